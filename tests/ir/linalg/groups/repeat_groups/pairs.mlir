// passes: repeat-groups
builtin.module {
  func.func @network(%x: tensor<8x5x6xf32>) -> tensor<16x3x4xf32> {
    %e = tensor.empty() : tensor<8x5x6xf32>
    %n = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "negative"} ins(%x : tensor<8x5x6xf32>) outs(%e : tensor<8x5x6xf32>) {
    ^bb0(%0: f32, %1: f32):
      %2 = arith.negf %0 : f32
      linalg.yield %2 : f32
    } -> tensor<8x5x6xf32>
    %w = ncnn.constant <[8, 2, 1, 3, 3] random 7 0 1.0 0.0> : tensor<8x2x1x3x3xf32>
    %3 = tensor.empty() : tensor<8x2x3x4xf32>
    %4 = arith.constant 0.000000e+00 : f32
    %5 = linalg.fill ins(%4 : f32) outs(%3 : tensor<8x2x3x4xf32>) -> tensor<8x2x3x4xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> ((d0 + d4), (d2 + d5), (d3 + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "pairs"} ins(%n, %w : tensor<8x5x6xf32>, tensor<8x2x1x3x3xf32>) outs(%5 : tensor<8x2x3x4xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<8x2x3x4xf32>
    %z = tensor.collapse_shape %y [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<8x2x3x4xf32> into tensor<16x3x4xf32>
    func.return %z : tensor<16x3x4xf32>
  }
}
// -- changes --
// erased: %3, %4, %5, %y, %z
...
%11 = tensor.empty() : tensor<16x3x4xf32>
%12 = arith.constant 0.000000e+00 : f32
%13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<16x3x4xf32>) -> tensor<16x3x4xf32>
%14 = arith.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]> : tensor<16xindex>
%15 = tensor.empty() : tensor<16x5x6xf32>
%16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pairs"} ins(%14 : tensor<16xindex>) outs(%15 : tensor<16x5x6xf32>) attrs =  {channels = array<i64: 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7>} {
^bb0(%17: index, %18: f32):
  %19 = linalg.index 1 : index
  %20 = linalg.index 2 : index
  %21 = tensor.extract %n[%17, %19, %20] : tensor<8x5x6xf32>
  linalg.yield %21 : f32
} -> tensor<16x5x6xf32>
%22 = tensor.collapse_shape %w [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<8x2x1x3x3xf32> into tensor<16x1x3x3xf32>
%z_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "pairs"} ins(%16, %22 : tensor<16x5x6xf32>, tensor<16x1x3x3xf32>) outs(%13 : tensor<16x3x4xf32>) {
^bb0(%23: f32, %24: f32, %25: f32):
  %26 = arith.mulf %23, %24 : f32
  %27 = arith.addf %25, %26 : f32
  linalg.yield %27 : f32
} -> tensor<16x3x4xf32>
func.return %z_1 : tensor<16x3x4xf32>
