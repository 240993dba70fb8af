// passes: skip-border-taps
builtin.module {
  func.func @network(%0: tensor<2x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = sized.expand_shape %0 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [1, 2, "h@224", "w@256"] : tensor<2x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]> into tensor<1x2x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    %2 = ncnn.constant <[2, 4, 1, 3, 3] inline "f4" "000040c0000080bf000000c00000803f000000c000000000000000c00000803f000080bf000000c00000404000000040000040c0000000000000404000004040000000c000000040000040400000004000000040000000c0000080bf000040c00000803f00000040000080bf000000c000000000000000c000000040000080bf000080bf000040400000004000000000000000c000000040000040c000000000000040400000803f000000000000803f000000c000000000000080bf0000000000004040000000c000000000000080bf00000040000000000000803f00000040000000c0000000c0000080bf00000040000080bf0000803f000040c00000803f000040c0000000c0000000400000803f000000c00000004000000040000080bf"> : tensor<2x4x1x3x3xf32>
    %3 = tensor.pad %1 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%4: index, %5: index, %6: index, %7: index):
      %8 = arith.constant 0.000000e+00 : f32
      tensor.yield %8 : f32
    } : tensor<1x2x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]> to tensor<1x2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]>
    %9 = tensor.empty() : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    %10 = arith.constant 0.000000e+00 : f32
    %11 = linalg.fill ins(%10 : f32) outs(%9 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, 0, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (1, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, 1, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%3, %2, %2, %3 : tensor<1x2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]>, tensor<2x4x1x3x3xf32>, tensor<2x4x1x3x3xf32>, tensor<1x2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]>) outs(%11 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) {
    ^bb0(%13: f32, %14: f32, %15: f32, %16: f32, %17: f32):
      %18 = arith.mulf %13, %14 : f32
      %19 = arith.mulf %13, %15 : f32
      %20 = arith.addf %18, %19 : f32
      %21 = arith.mulf %16, %14 : f32
      %22 = arith.addf %20, %21 : f32
      %23 = arith.addf %17, %22 : f32
      linalg.yield %23 : f32
    } -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
    func.return %12 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
  }
}
// -- changes --
...
%24 = sized.extract_slice %2[0, 0, 0, "max(0, -h@224 + 2)", "max(0, -w@256 + 2)"] [2, 4, 1, "-max(0, -h@224 + 2) + min(3, h@224 + 1)", "-max(0, -w@256 + 2) + min(3, w@256 + 1)"] [1, 1, 1, 1, 1] : tensor<2x4x1x3x3xf32> to tensor<2x4x1x?x?xf32, [#rt.size<"-max(0, -h@224 + 2) + min(3, h@224 + 1)">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1)">]>
%25 = sized.extract_slice %3[0, 0, "max(0, -h@224 + 2)", "max(0, -w@256 + 2)"] [1, 2, "h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1", "-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1"] [1, 1, 1, 1] : tensor<1x2x?x?xf32, [#rt.size<"h@224 + 2">, #rt.size<"w@256 + 2">]> to tensor<1x2x?x?xf32, [#rt.size<"h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1">]>
%12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, 0, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (0, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (1, d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, 1, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%25, %24, %24, %25 : tensor<1x2x?x?xf32, [#rt.size<"h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1">]>, tensor<2x4x1x?x?xf32, [#rt.size<"-max(0, -h@224 + 2) + min(3, h@224 + 1)">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1)">]>, tensor<2x4x1x?x?xf32, [#rt.size<"-max(0, -h@224 + 2) + min(3, h@224 + 1)">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1)">]>, tensor<1x2x?x?xf32, [#rt.size<"h@224 - max(0, -h@224 + 2) + min(3, h@224 + 1) - 1">, #rt.size<"-max(0, -w@256 + 2) + min(3, w@256 + 1) + w@256 - 1">]>) outs(%11 : tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>) {
^bb0(%13: f32, %14: f32, %15: f32, %16: f32, %17: f32):
  %18 = arith.mulf %13, %14 : f32
  %19 = arith.mulf %13, %15 : f32
  %20 = arith.addf %18, %19 : f32
  %21 = arith.mulf %16, %14 : f32
  %22 = arith.addf %20, %21 : f32
  %23 = arith.addf %17, %22 : f32
  linalg.yield %23 : f32
} -> tensor<4x?x?xf32, [#rt.size<"h@224">, #rt.size<"w@256">]>
...
