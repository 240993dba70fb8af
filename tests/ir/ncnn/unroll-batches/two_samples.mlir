// passes: unroll-batches,infer-shapes
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["z"]} {
    %x = ncnn.Input() {w = 4 : i32, h = 3 : i32, c = 2 : i32, layer = "x", blobs = ["x"]} : () -> tensor<*xf32>
    %y = ncnn.Reshape(%x) {w = 4 : i32, h = 3 : i32, c = 2 : i32, batch_to = 0 : i32, layer = "a", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    %s = ncnn.Softmax(%y) {layer = "s", blobs = ["s"]} : (tensor<*xf32>) -> tensor<*xf32>
    %z = ncnn.Reshape(%s) {w = 4 : i32, h = 3 : i32, c = 2 : i32, batch_from = 0 : i32, layer = "b", blobs = ["z"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %z : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x3x4xf32> attributes {outputs = ["z"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 4 : i32, h = 3 : i32, c = 2 : i32} : () -> tensor<2x3x4xf32>
    %0 = ncnn.Reshape(%x) {layer = "a", blobs = [""], c = 1 : i32, h = 2 : i32, w = 12 : i32} : (tensor<2x3x4xf32>) -> tensor<1x2x12xf32>
    %1, %2 = ncnn.Slice(%0) {layer = "a", blobs = ["", ""], slices = array<i32: 1, 1>, axis = 1 : i32} : (tensor<1x2x12xf32>) -> (tensor<1x1x12xf32>, tensor<1x1x12xf32>)
    %3 = ncnn.Reshape(%1) {layer = "a", blobs = [""], h = 3 : i32, w = 4 : i32} : (tensor<1x1x12xf32>) -> tensor<3x4xf32>
    %4 = ncnn.Reshape(%2) {layer = "a", blobs = [""], h = 3 : i32, w = 4 : i32} : (tensor<1x1x12xf32>) -> tensor<3x4xf32>
    %s = ncnn.Softmax(%3) {layer = "s.0", blobs = ["s.0"]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %s_1 = ncnn.Softmax(%4) {layer = "s.1", blobs = ["s.1"]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %5 = ncnn.Reshape(%s) {layer = "b", blobs = [""], c = 1 : i32, h = 1 : i32, w = 12 : i32} : (tensor<3x4xf32>) -> tensor<1x1x12xf32>
    %6 = ncnn.Reshape(%s_1) {layer = "b", blobs = [""], c = 1 : i32, h = 1 : i32, w = 12 : i32} : (tensor<3x4xf32>) -> tensor<1x1x12xf32>
    %7 = ncnn.Concat(%5, %6) {layer = "b", blobs = [""], axis = 1 : i32} : (tensor<1x1x12xf32>, tensor<1x1x12xf32>) -> tensor<1x2x12xf32>
    %z = ncnn.Reshape(%7) {layer = "b", blobs = ["z"], c = 2 : i32, h = 3 : i32, w = 4 : i32} : (tensor<1x2x12xf32>) -> tensor<2x3x4xf32>
    func.return %z : tensor<2x3x4xf32>
  }
}
