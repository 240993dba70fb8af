// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_tile y: it makes 1x6 of 6
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %y = ncnn.Tile(%data) {layer = "y", blobs = ["y"], repeats = array<i32: 1, 1>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<1x6xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    %y = ncnn.Tile(%data) {layer = "y", blobs = ["y"], repeats = array<i32: 1, 1>} : (tensor<6xf32>) -> tensor<1x6xf32>
    func.return %y : tensor<1x6xf32>
  }
}
