// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %y = ncnn.Permute(%data) {layer = "y", blobs = ["y"], order_type = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<6xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    func.return %data : tensor<6xf32>
  }
}
