// passes: join-groups
// refused: join-groups groups: its weights have their axes in another order
builtin.module {
  func.func @network(%data: tensor<40x6x7xf32>) -> tensor<80x6x7xf32> {
    %0 = tensor.pad %data low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<40x6x7xf32> to tensor<40x8x9xf32>
    %5 = ncnn.constant <[80] random 1 1 0.1 0.0> : tensor<80xf32>
    %6 = tensor.expand_shape %5 [[0 : i64, 1 : i64]] output_shape [5, 16] : tensor<80xf32> into tensor<5x16xf32>
    %7 = tensor.empty() : tensor<5x16x6x7xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%6 : tensor<5x16xf32>) outs(%7 : tensor<5x16x6x7xf32>) {
    ^bb0(%9: f32, %10: f32):
      linalg.yield %9 : f32
    } -> tensor<5x16x6x7xf32>
    %11 = ncnn.constant <[5, 8, 16, 3, 3] random 1 0 0.029462782549439483 0.0> : tensor<5x8x16x3x3xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (((d0 * 8) + d4), (d2 + d5), (d3 + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d1, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%0, %11 : tensor<40x8x9xf32>, tensor<5x8x16x3x3xf32>) outs(%8 : tensor<5x16x6x7xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = arith.mulf %13, %14 : f32
      %17 = arith.addf %15, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<5x16x6x7xf32>
    %out = tensor.collapse_shape %12 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<5x16x6x7xf32> into tensor<80x6x7xf32>
    func.return %out : tensor<80x6x7xf32>
  }
}
// -- changes --
// nothing
