// passes: unroll-batches,infer-shapes
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["z"]} {
    %x = ncnn.Input() {w = 4 : i32, h = 3 : i32, layer = "x", blobs = ["x"]} : () -> tensor<*xf32>
    %y = ncnn.Reshape(%x) {w = 4 : i32, h = 3 : i32, c = 1 : i32, batch_to = 0 : i32, layer = "a", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    %z = ncnn.Softmax(%y) {layer = "s", blobs = ["z"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %z : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["z"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.Reshape(%x) {layer = "a", blobs = ["y"], h = 3 : i32, w = 4 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = ncnn.Softmax(%y) {layer = "s", blobs = ["z"]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %z : tensor<3x4xf32>
  }
}
