// passes: part-groups
// Not: neighbouring groups share a channel.
builtin.module {
  func.func @network(%0: tensor<32x5x6xf32>, %1: tensor<16x2x3xf32>) -> tensor<16x5x4xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.extract_slice %0[0, 0, 0] [17, 5, 6] [1, 1, 1] : tensor<32x5x6xf32> to tensor<17x5x6xf32>
    %3 = tensor.empty() : tensor<16x5x4xf32>
    %4 = arith.constant 0.000000e+00 : f32
    %5 = linalg.fill ins(%4 : f32) outs(%3 : tensor<16x5x4xf32>) -> tensor<16x5x4xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> ((d0 + d3), d1, (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%2, %1 : tensor<17x5x6xf32>, tensor<16x2x3xf32>) outs(%5 : tensor<16x5x4xf32>) {
    ^bb0(%7: f32, %8: f32, %9: f32):
      %10 = arith.mulf %7, %8 : f32
      %11 = arith.addf %9, %10 : f32
      linalg.yield %11 : f32
    } -> tensor<16x5x4xf32>
    func.return %6 : tensor<16x5x4xf32>
  }
}
// -- changes --
// nothing
