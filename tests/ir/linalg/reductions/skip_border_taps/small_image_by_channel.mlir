// passes: skip-border-taps
builtin.module {
  func.func @network(%0: tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.pad %0 low[0, 2, 2] high[0, 2, 2] {
    ^bb0(%2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]> to tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 4">, #rt.size<"w@256 // 32 + 4">]>
    %6 = ncnn.constant <[2, 5, 5] random 0 1 0.1 0.0> : tensor<2x5x5xf32>
    %7 = tensor.empty() : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    %8 = arith.constant 0.000000e+00 : f32
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 + d3), (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%1, %6 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 4">, #rt.size<"w@256 // 32 + 4">]>, tensor<2x5x5xf32>) outs(%9 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) {
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
%16 = sized.pad %0 low[0, "-max(0, -max(0, h@224 // 32 - 1) + 2) + 2", 2] high[0, "max(0, min(5, h@224 // 32 + 2) - 3)", 2] {
^bb0(%17: index, %18: index, %19: index):
  %20 = arith.constant 0.000000e+00 : f32
  tensor.yield %20 : f32
} : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]> to tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 2) + max(0, min(5, h@224 // 32 + 2) - 3) + 2">, #rt.size<"w@256 // 32 + 4">]>
%21 = sized.extract_slice %16[0, 0, 0] [2, "max(0, h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 2) + min(5, h@224 // 32 + 2) - 1)", "w@256 // 32 + 4"] [1, 1, 1] : tensor<2x?x?xf32, [#rt.size<"h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 2) + max(0, min(5, h@224 // 32 + 2) - 3) + 2">, #rt.size<"w@256 // 32 + 4">]> to tensor<2x?x?xf32, [#rt.size<"max(0, h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 2) + min(5, h@224 // 32 + 2) - 1)">, #rt.size<"w@256 // 32 + 4">]>
...
%22 = sized.extract_slice %6[0, "max(0, -max(0, h@224 // 32 - 1) + 2)", 0] [2, "-max(0, -max(0, h@224 // 32 - 1) + 2) + min(5, h@224 // 32 + 2)", 5] [1, 1, 1] : tensor<2x5x5xf32> to tensor<2x?x5xf32, [#rt.size<"-max(0, -max(0, h@224 // 32 - 1) + 2) + min(5, h@224 // 32 + 2)">]>
%10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 + d3), (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%21, %22 : tensor<2x?x?xf32, [#rt.size<"max(0, h@224 // 32 - max(0, -max(0, h@224 // 32 - 1) + 2) + min(5, h@224 // 32 + 2) - 1)">, #rt.size<"w@256 // 32 + 4">]>, tensor<2x?x5xf32, [#rt.size<"-max(0, -max(0, h@224 // 32 - 1) + 2) + min(5, h@224 // 32 + 2)">]>) outs(%9 : tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) {
^bb0(%11: f32, %12: f32, %13: f32):
  %14 = arith.mulf %11, %12 : f32
  %15 = arith.addf %13, %14 : f32
  linalg.yield %15 : f32
} -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
...
