// passes: split-k-over-lanes
builtin.module {
  func.func @network(%x: tensor<2x5x7x16xf32>) -> (tensor<2x5x7x16xf32>) {
    %w = ncnn.constant <[2, 2, 16, 16] blocked [1, 0] 16 of <[24, 32] random 7 0 1.0 0.0>> : tensor<2x2x16x16xf32>
    %0 = tensor.empty() : tensor<2x5x7x16xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<2x5x7x16xf32>) -> tensor<2x5x7x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "product"} ins(%x, %w : tensor<2x5x7x16xf32>, tensor<2x2x16x16xf32>) outs(%2 : tensor<2x5x7x16xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<2x5x7x16xf32>
    func.return %y : tensor<2x5x7x16xf32>
  }
}
// -- changes --
// erased: %w
%w_1 = ncnn.constant <[2, 2, 16, 16] folded 2 of <[2, 2, 16, 16] blocked [1, 0] 16 of <[24, 32] random 7 0 1.0 0.0>>> : tensor<2x2x16x16xf32>
...
%y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "product"} ins(%x, %w_1 : tensor<2x5x7x16xf32>, tensor<2x2x16x16xf32>) outs(%2 : tensor<2x5x7x16xf32>) {
^bb0(%3: f32, %4: f32, %5: f32):
  %6 = arith.mulf %3, %4 : f32
  %7 = arith.addf %5, %6 : f32
  linalg.yield %7 : f32
} -> tensor<2x5x7x16xf32>
...
