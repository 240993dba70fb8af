// passes: join-groups
builtin.module {
  func.func @network(%data: tensor<40x4x6x7xf32>) -> tensor<40x4x6x7xf32> {
    %0 = tensor.pad %data low[0, 1, 1, 1] high[0, 1, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<40x4x6x7xf32> to tensor<40x6x8x9xf32>
    %6 = ncnn.constant <[40] random 1 1 0.1 0.0> : tensor<40xf32>
    %7 = tensor.expand_shape %6 [[0 : i64, 1 : i64]] output_shape [5, 8] : tensor<40xf32> into tensor<5x8xf32>
    %8 = tensor.empty() : tensor<5x8x4x6x7xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%7 : tensor<5x8xf32>) outs(%8 : tensor<5x8x4x6x7xf32>) {
    ^bb0(%10: f32, %11: f32):
      linalg.yield %10 : f32
    } -> tensor<5x8x4x6x7xf32>
    %12 = ncnn.constant <[5, 8, 8, 3, 3, 3] random 1 0 0.024056261216234408 0.0> : tensor<5x8x8x3x3x3xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (((d0 * 8) + d5), (d2 + d6), (d3 + d7), (d4 + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d5, d6, d7, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"], doc = "groups"} ins(%0, %12 : tensor<40x6x8x9xf32>, tensor<5x8x8x3x3x3xf32>) outs(%9 : tensor<5x8x4x6x7xf32>) {
    ^bb0(%14: f32, %15: f32, %16: f32):
      %17 = arith.mulf %14, %15 : f32
      %18 = arith.addf %16, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<5x8x4x6x7xf32>
    %out = tensor.collapse_shape %13 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<5x8x4x6x7xf32> into tensor<40x4x6x7xf32>
    func.return %out : tensor<40x4x6x7xf32>
  }
}
// -- changes --
// nothing
