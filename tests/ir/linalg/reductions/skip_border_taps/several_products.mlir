// passes: skip-border-taps
builtin.module {
  func.func @network(%0: tensor<2x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.pad %0 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<2x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]> to tensor<2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]>
    %6 = ncnn.constant <[2, 4, 1, 3, 3] inline "f4" "000040c0000080bf000000c00000803f000000c000000000000000c00000803f000080bf000000c00000404000000040000040c0000000000000404000004040000000c000000040000040400000004000000040000000c0000080bf000040c00000803f00000040000080bf000000c000000000000000c000000040000080bf000080bf000040400000004000000000000000c000000040000040c000000000000040400000803f000000000000803f000000c000000000000080bf0000000000004040000000c000000000000080bf00000040000000000000803f00000040000000c0000000c0000080bf00000040000080bf0000803f000040c00000803f000040c0000000c0000000400000803f000000c00000004000000040000080bf"> : tensor<2x4x1x3x3xf32>
    %7 = tensor.empty() : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    %8 = arith.constant 0.000000e+00 : f32
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> ((d3 * 3), (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (1, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (((d3 * 3) + 1), (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%1, %6, %6, %1 : tensor<2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]>, tensor<2x4x1x3x3xf32>, tensor<2x4x1x3x3xf32>, tensor<2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]>) outs(%9 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) {
    ^bb0(%11: f32, %12: f32, %13: f32, %14: f32, %15: f32):
      %16 = arith.mulf %11, %12 : f32
      %17 = arith.mulf %11, %13 : f32
      %18 = arith.addf %16, %17 : f32
      %19 = arith.mulf %14, %12 : f32
      %20 = arith.addf %18, %19 : f32
      %21 = arith.addf %15, %20 : f32
      linalg.yield %21 : f32
    } -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    func.return %10 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
  }
}
// -- changes --
...
%22 = sized.extract_slice %1[0, "max(0, -h@224 + 2)", "max(0, -w@256 + 2)"] [2, "h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1", "-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1"] [1, 1, 1] : tensor<2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]> to tensor<2x?x?xf32, [#rt.size<"h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1">]>
%23 = sized.extract_slice %6[0, 0, 0, "max(0, -h@224 + 2)", "max(0, -w@256 + 2)"] [2, 4, 1, "-max(0, -h@224 + 2) + min(3, h@224 + 1)", "-max(0, -w@256 + 2) + min(3, w@256 + 1)"] [1, 1, 1, 1, 1] : tensor<2x4x1x3x3xf32> to tensor<2x4x1x?x?xf32, [#rt.size<"-max(0, -h@224 + 2) + min(3, h@224 + 1)">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1)">]>
%10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> ((d3 * 3), (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (1, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (((d3 * 3) + 1), (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%22, %23, %23, %22 : tensor<2x?x?xf32, [#rt.size<"h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1">]>, tensor<2x4x1x?x?xf32, [#rt.size<"-max(0, -h@224 + 2) + min(3, h@224 + 1)">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1)">]>, tensor<2x4x1x?x?xf32, [#rt.size<"-max(0, -h@224 + 2) + min(3, h@224 + 1)">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1)">]>, tensor<2x?x?xf32, [#rt.size<"h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1">]>) outs(%9 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) {
^bb0(%11: f32, %12: f32, %13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %11, %12 : f32
  %17 = arith.mulf %11, %13 : f32
  %18 = arith.addf %16, %17 : f32
  %19 = arith.mulf %14, %12 : f32
  %20 = arith.addf %18, %19 : f32
  %21 = arith.addf %15, %20 : f32
  linalg.yield %21 : f32
} -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
...
