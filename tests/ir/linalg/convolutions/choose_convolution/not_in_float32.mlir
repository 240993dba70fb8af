// passes: choose-convolution{bf16x3=true}
// refused: choose-convolution conv: Winograd is not worth it; ..
// Not: 64 channels fill matrix tiles.
builtin.module {
  func.func @network(%x: tensor<64x36x36xf32>) -> tensor<64x36x36xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %w = ncnn.constant <[64, 64, 3, 3] random 7 0 1.0 0.0> : tensor<64x64x3x3xf32>
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<64x36x36xf32> to tensor<64x38x38xf32>
    %0 = tensor.empty() : tensor<64x36x36xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<64x36x36xf32>) -> tensor<64x36x36xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "conv"} ins(%p, %w : tensor<64x38x38xf32>, tensor<64x64x3x3xf32>) outs(%2 : tensor<64x36x36xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<64x36x36xf32>
    func.return %y : tensor<64x36x36xf32>
  }
}
// -- changes --
// nothing
