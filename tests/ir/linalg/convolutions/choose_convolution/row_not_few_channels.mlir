// passes: choose-convolution
// refused: choose-convolution row: Winograd is not worth it; ..
builtin.module {
  func.func @network(%x: tensor<16x1x20xf32>) -> tensor<16x1x20xf32> {
    %w = ncnn.constant <[16, 16, 7] random 7 0 1.0 0.0> : tensor<16x16x7xf32>
    %p = tensor.pad %x low[0, 0, 3] high[0, 0, 3] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<16x1x20xf32> to tensor<16x1x26xf32>
    %0 = tensor.empty() : tensor<16x1x20xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<16x1x20xf32>) -> tensor<16x1x20xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%p, %w : tensor<16x1x26xf32>, tensor<16x16x7xf32>) outs(%2 : tensor<16x1x20xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<16x1x20xf32>
    func.return %y : tensor<16x1x20xf32>
  }
}
// -- changes --
// nothing
