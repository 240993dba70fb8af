// passes: split-bf16
// Not: it was chosen for float32, in tiles of Winograd. The attribute that says so is gone.
builtin.module {
  func.func @network(%x: tensor<2x36x16xf32>) -> (tensor<2x36x16xf32>) {
    %w = ncnn.constant <[2, 2, 16, 16] blocked [1, 0] 16 of <[32, 32] random 7 0 1.0 0.0>> : tensor<2x2x16x16xf32>
    %0 = tensor.empty() : tensor<2x36x16xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<2x36x16xf32>) -> tensor<2x36x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(o, p, i, j, q) -> (i, p, j)>, affine_map<(o, p, i, j, q) -> (o, i, j, q)>, affine_map<(o, p, i, j, q) -> (o, p, q)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%x, %w : tensor<2x36x16xf32>, tensor<2x2x16x16xf32>) outs(%2 : tensor<2x36x16xf32>) attrs = {factors = f32} {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<2x36x16xf32>
    func.return %y : tensor<2x36x16xf32>
  }
}
// -- changes --
...
%y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d2, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%x, %w : tensor<2x36x16xf32>, tensor<2x2x16x16xf32>) outs(%2 : tensor<2x36x16xf32>) {
^bb0(%3: f32, %4: f32, %5: f32):
  %6 = arith.mulf %3, %4 : f32
  %7 = arith.addf %5, %6 : f32
  linalg.yield %7 : f32
} -> tensor<2x36x16xf32>
...
