// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Flatten(%data) {layer = "a", blobs = ["a"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.ExpandDims(%a) {layer = "y", blobs = ["y"], axes = array<i32: 0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<1x60xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Reshape(%data) {layer = "y", blobs = ["y"], h = 1 : i32, w = 60 : i32} : (tensor<3x4x5xf32>) -> tensor<1x60xf32>
    func.return %y : tensor<1x60xf32>
  }
}
