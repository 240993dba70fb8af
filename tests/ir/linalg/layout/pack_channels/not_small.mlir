// passes: convert-ncnn-to-linalg,pack-channels
// Not: conversions cost more than vectors save.
builtin.module {
  func.func @network() -> tensor<16x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 4 : i32, c = 16 : i32} : () -> tensor<16x4x4xf32>
    %y = ncnn.Convolution(%x) {layer = "conv", blobs = ["y"], line = 4 : i32, num_output = 16 : i32, kernel_w = 1 : i32, weight_data_size = 256 : i32, weight = #ncnn.weight<[16, 16, 1, 1] random 1 0 0.25 0.0>} : (tensor<16x4x4xf32>) -> tensor<16x4x4xf32>
    func.return %y : tensor<16x4x4xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = ncnn.constant <[16, 16, 1, 1] random 1 0 0.25 0.0> : tensor<16x16x1x1xf32>
%1 = tensor.collapse_shape %0 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<16x16x1x1xf32> into tensor<16x16xf32>
%2 = tensor.empty() : tensor<16x4x4xf32>
%3 = arith.constant 0.000000e+00 : f32
%4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<16x4x4xf32>) -> tensor<16x4x4xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%x_1, %1 : tensor<16x4x4xf32>, tensor<16x16xf32>) outs(%4 : tensor<16x4x4xf32>) {
^bb0(%5: f32, %6: f32, %7: f32):
  %8 = arith.mulf %5, %6 : f32
  %9 = arith.addf %7, %8 : f32
  linalg.yield %9 : f32
} -> tensor<16x4x4xf32>
func.return %y_1 : tensor<16x4x4xf32>
