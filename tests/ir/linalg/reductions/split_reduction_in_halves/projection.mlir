// passes: split-reduction-in-halves
builtin.module {
  func.func @network(%x: tensor<12x12x12x16xf32>) -> (tensor<2x10x10x16xf32>) {
    %v = ncnn.constant <[12, 3, 3, 16] random 7 0 1.0 0.0> : tensor<12x3x3x16xf32>
    %0 = tensor.empty() : tensor<12x10x10x16xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<12x10x10x16xf32>) -> tensor<12x10x10x16xf32>
    %d = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d3), (d2 + d4), d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "depthwise"} ins(%x, %v : tensor<12x12x12x16xf32>, tensor<12x3x3x16xf32>) outs(%2 : tensor<12x10x10x16xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<12x10x10x16xf32>
    %w = ncnn.constant <[2, 12, 16, 16] random 7 1 1.0 0.0> : tensor<2x12x16x16xf32>
    %8 = tensor.empty() : tensor<2x10x10x16xf32>
    %9 = linalg.fill ins(%1 : f32) outs(%8 : tensor<2x10x10x16xf32>) -> tensor<2x10x10x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "project"} ins(%d, %w : tensor<12x10x10x16xf32>, tensor<2x12x16x16xf32>) outs(%9 : tensor<2x10x10x16xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32):
      %13 = arith.mulf %10, %11 : f32
      %14 = arith.addf %12, %13 : f32
      linalg.yield %14 : f32
    } -> tensor<2x10x10x16xf32>
    func.return %y : tensor<2x10x10x16xf32>
  }
}
// -- changes --
// erased: %y
...
%15 = tensor.expand_shape %d [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] output_shape [2, 6, 10, 10, 16] : tensor<12x10x10x16xf32> into tensor<2x6x10x10x16xf32>
%16 = tensor.expand_shape %w [[0 : i64], [1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [2, 2, 6, 16, 16] : tensor<2x12x16x16xf32> into tensor<2x2x6x16x16xf32>
%17 = tensor.empty() : tensor<2x2x10x10x16xf32>
%18 = arith.constant 0.000000e+00 : f32
%19 = linalg.fill ins(%18 : f32) outs(%17 : tensor<2x2x10x10x16xf32>) -> tensor<2x2x10x10x16xf32>
%20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d6, d3, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"], doc = "project"} ins(%15, %16 : tensor<2x6x10x10x16xf32>, tensor<2x2x6x16x16xf32>) outs(%19 : tensor<2x2x10x10x16xf32>) {
^bb0(%21: f32, %22: f32, %23: f32):
  %24 = arith.mulf %21, %22 : f32
  %25 = arith.addf %23, %24 : f32
  linalg.yield %25 : f32
} -> tensor<2x2x10x10x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d4, d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "project"} ins(%20 : tensor<2x2x10x10x16xf32>) outs(%9 : tensor<2x10x10x16xf32>) {
^bb0(%26: f32, %27: f32):
  %28 = arith.addf %27, %26 : f32
  linalg.yield %28 : f32
} -> tensor<2x10x10x16xf32>
func.return %y_1 : tensor<2x10x10x16xf32>
