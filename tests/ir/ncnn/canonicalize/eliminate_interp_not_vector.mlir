// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_interp y: it makes 6x1x1 of 6
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %y = ncnn.Interp(%data) {layer = "y", blobs = ["y"], resize_type = 2 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<6x1x1xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    %y = ncnn.Interp(%data) {layer = "y", blobs = ["y"], resize_type = 2 : i32} : (tensor<6xf32>) -> tensor<6x1x1xf32>
    func.return %y : tensor<6x1x1xf32>
  }
}
