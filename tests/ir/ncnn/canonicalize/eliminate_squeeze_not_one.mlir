// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_squeeze y: it makes 4x5 of 1x4x5
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<*xf32>
    %y = ncnn.Squeeze(%data) {layer = "y", blobs = ["y"], axes = array<i32: 0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<1x4x5xf32>
    %y = ncnn.Squeeze(%data) {layer = "y", blobs = ["y"], axes = array<i32: 0>} : (tensor<1x4x5xf32>) -> tensor<4x5xf32>
    func.return %y : tensor<4x5xf32>
  }
}
