// passes: transpose-factors
// Not: each key meets 23 queries only.
builtin.module {
  func.func @network(%0: tensor<23x3x4xf32>, %1: tensor<20x3x4xf32>) -> tensor<3x23x20xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.empty() : tensor<3x23x20xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<3x23x20xf32>) -> tensor<3x23x20xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<23x3x4xf32>, tensor<20x3x4xf32>) outs(%4 : tensor<3x23x20xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<3x23x20xf32>
    func.return %5 : tensor<3x23x20xf32>
  }
}
// -- changes --
// nothing
