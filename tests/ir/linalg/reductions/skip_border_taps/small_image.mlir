// passes: skip-border-taps
builtin.module {
  func.func @network(%0: tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.pad %0 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]> to tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 2">, #rt.size<"w@256 // 32 + 2">]>
    %6 = ncnn.constant <[2, 2, 3, 3] inline "f4" "000000400000803f000080bf000080bf000040c000004040000080bf0000004000000040000080bf000000c0000040c000000000000040c00000803f000040400000803f00000000000040400000803f00000040000000c0000040400000803f00004040000080bf000000c0000000c00000803f00000000000080bf000000c0000040c0000000400000000000004040"> : tensor<2x2x3x3xf32>
    %7 = tensor.empty() : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    %8 = arith.constant 0.000000e+00 : f32
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%1, %6 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 2">, #rt.size<"w@256 // 32 + 2">]>, tensor<2x2x3x3xf32>) outs(%9 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.mulf %11, %12 : f32
      %15 = arith.addf %13, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    func.return %10 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
  }
}
// -- changes --
// erased: %1
%16 = sized.pad %0 low[0, "-max(0, -max(0, h@224 // 32 - 1) + 1) + 1", "-max(0, -max(0, w@256 // 32 - 1) + 1) + 1"] high[0, "max(0, min(3, h@224 // 32 + 1) - 2)", "max(0, min(3, w@256 // 32 + 1) - 2)"] {
^bb0(%17: index, %18: index, %19: index):
  %20 = arith.constant 0.000000e+00 : f32
  tensor.yield %20 : f32
} : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]> to tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 1) + max(0, min(3, h@224 // 32 + 1) - 2) + 1">, #rt.size<"w@256 // 32 - max(0, -max(0, w@256 // 32 - 1) + 1) + max(0, min(3, w@256 // 32 + 1) - 2) + 1">]>
%21 = sized.extract_slice %16[0, 0, 0] [2, "max(0, h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 1) + min(3, h@224 // 32 + 1) - 1)", "max(0, w@256 // 32 - max(0, -max(0, w@256 // 32 - 1) + 1) + min(3, w@256 // 32 + 1) - 1)"] [1, 1, 1] : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 1) + max(0, min(3, h@224 // 32 + 1) - 2) + 1">, #rt.size<"w@256 // 32 - max(0, -max(0, w@256 // 32 - 1) + 1) + max(0, min(3, w@256 // 32 + 1) - 2) + 1">]> to tensor<2x?x?xf32, [#rt.size<"max(0, h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 1) + min(3, h@224 // 32 + 1) - 1)">, #rt.size<"max(0, w@256 // 32 - max(0, -max(0, w@256 // 32 - 1) + 1) + min(3, w@256 // 32 + 1) - 1)">]>
...
%22 = sized.extract_slice %6[0, 0, "max(0, -max(0, h@224 // 32 - 1) + 1)", "max(0, -max(0, w@256 // 32 - 1) + 1)"] [2, 2, "-max(0, -max(0, h@224 // 32 - 1) + 1) + min(3, h@224 // 32 + 1)", "-max(0, -max(0, w@256 // 32 - 1) + 1) + min(3, w@256 // 32 + 1)"] [1, 1, 1, 1] : tensor<2x2x3x3xf32> to tensor<2x2x?x?xf32, [#rt.size<"-max(0, -max(0, h@224 // 32 - 1) + 1) + min(3, h@224 // 32 + 1)">, #rt.size<"-max(0, -max(0, w@256 // 32 - 1) + 1) + min(3, w@256 // 32 + 1)">]>
%10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%21, %22 : tensor<2x?x?xf32, [#rt.size<"max(0, h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 1) + min(3, h@224 // 32 + 1) - 1)">, #rt.size<"max(0, w@256 // 32 - max(0, -max(0, w@256 // 32 - 1) + 1) + min(3, w@256 // 32 + 1) - 1)">]>, tensor<2x2x?x?xf32, [#rt.size<"-max(0, -max(0, h@224 // 32 - 1) + 1) + min(3, h@224 // 32 + 1)">, #rt.size<"-max(0, -max(0, w@256 // 32 - 1) + 1) + min(3, w@256 // 32 + 1)">]>) outs(%9 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) {
^bb0(%11: f32, %12: f32, %13: f32):
  %14 = arith.mulf %11, %12 : f32
  %15 = arith.addf %13, %14 : f32
  linalg.yield %15 : f32
} -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
...
