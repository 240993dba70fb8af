// passes: convert-ncnn-to-linalg,fold-transposes
// There, through a reshape, and back: what is read twice is the value itself, in other axes.
builtin.module {
  func.func @network() -> tensor<4x30xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 5 : i32, h = 6 : i32, c = 4 : i32} : () -> tensor<4x6x5xf32>
    %p = ncnn.Permute(%x) {layer = "p", blobs = ["p"], line = 4 : i32, order_type = 3 : i32} : (tensor<4x6x5xf32>) -> tensor<6x5x4xf32>
    %r = ncnn.Reshape(%p) {layer = "r", blobs = ["r"], line = 5 : i32, w = 4 : i32, h = 30 : i32} : (tensor<6x5x4xf32>) -> tensor<30x4xf32>
    %y = ncnn.Permute(%r) {layer = "q", blobs = ["y"], line = 6 : i32, order_type = 1 : i32} : (tensor<30x4xf32>) -> tensor<4x30xf32>
    func.return %y : tensor<4x30xf32>
  }
}
// -- changes --
// erased: %x, %p, %r, %y
// arguments: %x_1
%y_1 = tensor.collapse_shape %x_1 [[0 : i64], [1 : i64, 2 : i64]] : tensor<4x6x5xf32> into tensor<4x30xf32>
func.return %y_1 : tensor<4x30xf32>
