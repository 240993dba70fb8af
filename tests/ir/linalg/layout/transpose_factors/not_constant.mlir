// passes: transpose-factors
// Not: weights are transposed where they are packed.
builtin.module {
  func.func @network(%0: tensor<24x4xf32>) -> tensor<24x16xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[16, 4] inline "f4" "000080bf000000000000804000000041000010c10000e0c00000a040000000410000a0c0000080c00000c040000000c00000a0c00000a0400000a0c0000000c00000004000000000000000c1000010c10000c040000080400000c040000000000000a040000080c0000080bf0000a0400000e0c0000080c00000e0c0000080bf000000410000e0c0000040c0000000c00000e0400000c0c0000000000000a0c0000010c100008040000000c1000080c0000080bf000080bf0000e0c0000000410000804000000041000000c100008040000080c0000000000000e0400000a0c0000080400000e0c0000080c000000041000000c000000000000080c00000e0c0"> : tensor<16x4xf32>
    %2 = tensor.empty() : tensor<24x16xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<24x4xf32>, tensor<16x4xf32>) outs(%4 : tensor<24x16xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<24x16xf32>
    func.return %5 : tensor<24x16xf32>
  }
}
// -- changes --
// nothing
