// passes: skip-border-taps
// refused: skip-border-taps layer: all its windows see all of their taps
builtin.module {
  func.func @network(%0: tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[2, 2, 3, 3] inline "f4" "000000400000803f000080bf000080bf000040c000004040000080bf0000004000000040000080bf000000c0000040c000000000000040c00000803f000040400000803f00000000000040400000803f00000040000000c0000040400000803f00004040000080bf000000c0000000c00000803f00000000000080bf000000c0000040c0000000400000000000004040"> : tensor<2x2x3x3xf32>
    %2 = tensor.empty() : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%0, %1 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>, tensor<2x2x3x3xf32>) outs(%4 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]>
    func.return %5 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - 2">, #rt.size<"w@256 // 32 - 2">]>
  }
}
// -- changes --
// nothing
