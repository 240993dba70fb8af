// passes: infer-shapes,optimize-ncnn
// refused: fuse_padding_pooling y: the border of 0 may be the largest
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %p = ncnn.Padding(%data) {layer = "p", blobs = ["p"], top = 1 : i32, left = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Pooling(%p) {layer = "y", blobs = ["y"], pooling_type = 0 : i32, kernel_w = 2 : i32, pad_mode = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %p = ncnn.Padding(%data) {layer = "p", blobs = ["p"], top = 1 : i32, left = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<3x5x6xf32>
    %y = ncnn.Pooling(%p) {layer = "y", blobs = ["y"], pooling_type = 0 : i32, kernel_w = 2 : i32, pad_mode = 1 : i32} : (tensor<3x5x6xf32>) -> tensor<3x4x5xf32>
    func.return %y : tensor<3x4x5xf32>
  }
}
