// passes: conv1d-to-conv2d
// The sums are over channels, by constants.
builtin.module {
  func.func @network(%x: tensor<4x9xf32>) -> tensor<8x9xf32> {
    %w = ncnn.constant <[8, 4] random 7 0 1.0 0.0> : tensor<8x4xf32>
    %0 = tensor.empty() : tensor<8x9xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<8x9xf32>) -> tensor<8x9xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "pointwise"} ins(%x, %w : tensor<4x9xf32>, tensor<8x4xf32>) outs(%2 : tensor<8x9xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<8x9xf32>
    func.return %y : tensor<8x9xf32>
  }
}
// -- changes --
// erased: %0, %1, %2, %y
...
%8 = tensor.expand_shape %x [[0 : i64], [1 : i64, 2 : i64]] output_shape [4, 1, 9] : tensor<4x9xf32> into tensor<4x1x9xf32>
%9 = tensor.empty() : tensor<8x1x9xf32>
%10 = arith.constant 0.000000e+00 : f32
%11 = linalg.fill ins(%10 : f32) outs(%9 : tensor<8x1x9xf32>) -> tensor<8x1x9xf32>
%12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "pointwise"} ins(%8, %w : tensor<4x1x9xf32>, tensor<8x4xf32>) outs(%11 : tensor<8x1x9xf32>) {
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %13, %14 : f32
  %17 = arith.addf %15, %16 : f32
  linalg.yield %17 : f32
} -> tensor<8x1x9xf32>
%y_1 = tensor.collapse_shape %12 [[0 : i64], [1 : i64, 2 : i64]] : tensor<8x1x9xf32> into tensor<8x9xf32>
func.return %y_1 : tensor<8x9xf32>
