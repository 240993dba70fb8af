// passes: join-groups
// refused: join-groups groups: it has no windows over rows and columns
builtin.module {
  func.func @network(%data: tensor<40x7xf32>) -> tensor<40x7xf32> {
    %0 = tensor.expand_shape %data [[0 : i64], [1 : i64, 2 : i64]] output_shape [40, 1, 7] : tensor<40x7xf32> into tensor<40x1x7xf32>
    %1 = tensor.pad %0 low[0, 0, 1] high[0, 0, 1] {
    ^bb0(%2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<40x1x7xf32> to tensor<40x1x9xf32>
    %6 = ncnn.constant <[40] random 1 1 0.1 0.0> : tensor<40xf32>
    %7 = tensor.expand_shape %6 [[0 : i64, 1 : i64]] output_shape [5, 8] : tensor<40xf32> into tensor<5x8xf32>
    %8 = ncnn.constant <[5, 8, 8, 3] random 1 0 0.07216878364870323 0.0> : tensor<5x8x8x3xf32>
    %9 = tensor.empty() : tensor<5x8x1x7xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%7 : tensor<5x8xf32>) outs(%9 : tensor<5x8x1x7xf32>) {
    ^bb0(%11: f32, %12: f32):
      linalg.yield %11 : f32
    } -> tensor<5x8x1x7xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 8) + d3), d5, (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "groups"} ins(%1, %8 : tensor<40x1x9xf32>, tensor<5x8x8x3xf32>) outs(%10 : tensor<5x8x1x7xf32>) {
    ^bb0(%14: f32, %15: f32, %16: f32):
      %17 = arith.mulf %14, %15 : f32
      %18 = arith.addf %16, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<5x8x1x7xf32>
    %19 = tensor.collapse_shape %13 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<5x8x1x7xf32> into tensor<40x1x7xf32>
    %out = tensor.collapse_shape %19 [[0 : i64], [1 : i64, 2 : i64]] : tensor<40x1x7xf32> into tensor<40x7xf32>
    func.return %out : tensor<40x7xf32>
  }
}
// -- changes --
// nothing
