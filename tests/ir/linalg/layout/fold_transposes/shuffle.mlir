// passes: convert-ncnn-to-linalg,fold-transposes
// Two shuffles are one move; the loop of the second is split where the first one joined two.
builtin.module {
  func.func @network() -> tensor<12x3x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 3 : i32, h = 3 : i32, c = 12 : i32} : () -> tensor<12x3x3xf32>
    %s = ncnn.ShuffleChannel(%x) {layer = "s", blobs = ["s"], line = 4 : i32, group = 2 : i32} : (tensor<12x3x3xf32>) -> tensor<12x3x3xf32>
    %y = ncnn.ShuffleChannel(%s) {layer = "t", blobs = ["y"], line = 5 : i32, group = 3 : i32} : (tensor<12x3x3xf32>) -> tensor<12x3x3xf32>
    func.return %y : tensor<12x3x3xf32>
  }
}
// -- changes --
// erased: %x, %s, %y
// arguments: %x_1
%0 = tensor.empty() : tensor<2x2x3x3x3xf32>
%1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (((d0 + (d1 * 6)) + (d2 * 2)), d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "t"} ins(%x_1 : tensor<12x3x3xf32>) outs(%0 : tensor<2x2x3x3x3xf32>) {
^bb0(%2: f32, %3: f32):
  linalg.yield %2 : f32
} -> tensor<2x2x3x3x3xf32>
%4 = tensor.collapse_shape %1 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<2x2x3x3x3xf32> into tensor<4x3x3x3xf32>
%y_1 = tensor.collapse_shape %4 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<4x3x3x3xf32> into tensor<12x3x3xf32>
func.return %y_1 : tensor<12x3x3xf32>
