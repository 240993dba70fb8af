// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, d = 2 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.ExpandDims(%data) {layer = "y", blobs = ["y"], axes = array<i32: 0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, d = 2 : i32, c = 3 : i32} : () -> tensor<3x2x4x5xf32>
    func.return %data : tensor<3x2x4x5xf32>
  }
}
