// passes: transpose-factors
// Not: so few rows take less time than two more kernels.
builtin.module {
  func.func @network(%0: tensor<127x4xf32>) -> tensor<127x3xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[3, 4] inline "f4" "0000803f00000040000080bf000040400000803f00000040000080bf000040400000803f00000040000080bf00004040"> : tensor<3x4xf32>
    %2 = tensor.empty() : tensor<127x3xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<127x3xf32>) -> tensor<127x3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<127x4xf32>, tensor<3x4xf32>) outs(%4 : tensor<127x3xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<127x3xf32>
    func.return %5 : tensor<127x3xf32>
  }
}
// -- changes --
// nothing
