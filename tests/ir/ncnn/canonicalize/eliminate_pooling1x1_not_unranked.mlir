// passes: canonicalize-ncnn
// refused: eliminate_pooling1x1 y: the rank of its input is not known
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %y = ncnn.Pooling(%data) {kernel_w = 1 : i32, layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.Pooling(%data) {layer = "y", blobs = ["y"], kernel_w = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
