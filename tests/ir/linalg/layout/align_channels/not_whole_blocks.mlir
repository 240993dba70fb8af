// passes: align-channels
// Not: every group begins with a block.
builtin.module {
  func.func @network(%0: tensor<32x2x3xf32>) -> tensor<2x2x2x3xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[2, 2, 16] random 7 0 1.0 0.0> : tensor<2x2x16xf32>
    %2 = tensor.empty() : tensor<2x2x2x3xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<2x2x2x3xf32>) -> tensor<2x2x2x3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 16) + d4), d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<32x2x3xf32>, tensor<2x2x16xf32>) outs(%4 : tensor<2x2x2x3xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<2x2x2x3xf32>
    func.return %5 : tensor<2x2x2x3xf32>
  }
}
// -- changes --
// nothing
