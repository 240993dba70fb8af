// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Permute(%data) {layer = "a", blobs = ["a"], order_type = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Permute(%a) {layer = "y", blobs = ["y"], order_type = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<5x3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Permute(%data) {layer = "y", blobs = ["y"], order_type = 4 : i32} : (tensor<3x4x5xf32>) -> tensor<5x3x4xf32>
    func.return %y : tensor<5x3x4xf32>
  }
}
