// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_expanddims y: it makes 1x3x4 of 3x4
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.ExpandDims(%data) {layer = "y", blobs = ["y"], axes = array<i32: 0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<1x3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.ExpandDims(%data) {layer = "y", blobs = ["y"], axes = array<i32: 0>} : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
    func.return %y : tensor<1x3x4xf32>
  }
}
