// passes: space-to-depth
// refused: space-to-depth no_stride: its stride is 1
builtin.module {
  func.func @network(%x: tensor<3x58x58xf32>) -> (tensor<64x54x54xf32>) {
    %w = ncnn.constant <[64, 3, 11, 11] random 7 0 1.0 0.0> : tensor<64x3x11x11xf32>
    %p = tensor.pad %x low[0, 3, 3] high[0, 3, 3] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<3x58x58xf32> to tensor<3x64x64xf32>
    %0 = tensor.empty() : tensor<64x54x54xf32>
    %1 = arith.constant 2.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<64x54x54xf32>) -> tensor<64x54x54xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "no_stride"} ins(%p, %w : tensor<3x64x64xf32>, tensor<64x3x11x11xf32>) outs(%2 : tensor<64x54x54xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<64x54x54xf32>
    func.return %y : tensor<64x54x54xf32>
  }
}
// -- changes --
// nothing
