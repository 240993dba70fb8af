// passes: quantize-weights
// Not: two points share each weight.
builtin.module {
  func.func @network(%x: tensor<2x256xf32>) -> (tensor<4x2x16xf32>) {
    %w = ncnn.constant <[4, 256, 16] blocked [0] 16 of <[64, 256] random 7 0 1.0 0.0>> : tensor<4x256x16xf32>
    %0 = tensor.empty() : tensor<4x2x16xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<4x2x16xf32>) -> tensor<4x2x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "product"} ins(%x, %w : tensor<2x256xf32>, tensor<4x256x16xf32>) outs(%2 : tensor<4x2x16xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<4x2x16xf32>
    func.return %y : tensor<4x2x16xf32>
  }
}
// -- changes --
// nothing
