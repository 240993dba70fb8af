// passes: pack-vnni
// Not: floats.
builtin.module {
  func.func @network(%0: tensor<16xf32>) -> tensor<8xf32> {
    %1 = ncnn.constant <[8, 16] random 7 0 1.0 0.0> : tensor<8x16xf32>
    %2 = tensor.empty() : tensor<8xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<8xf32>) -> tensor<8xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "conv"} ins(%0, %1 : tensor<16xf32>, tensor<8x16xf32>) outs(%4 : tensor<8xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<8xf32>
    func.return %5 : tensor<8xf32>
  }
}
// -- changes --
// nothing
