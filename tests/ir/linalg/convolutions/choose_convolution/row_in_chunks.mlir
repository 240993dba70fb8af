// passes: choose-convolution
builtin.module {
  func.func @network(%x: tensor<64x1x1300xf32>) -> tensor<64x1x1300xf32> {
    %w = ncnn.constant <[64, 64, 7] random 7 0 1.0 0.0> : tensor<64x64x7xf32>
    %p = tensor.pad %x low[0, 0, 3] high[0, 0, 3] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<64x1x1300xf32> to tensor<64x1x1306xf32>
    %0 = tensor.empty() : tensor<64x1x1300xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<64x1x1300xf32>) -> tensor<64x1x1300xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%p, %w : tensor<64x1x1306xf32>, tensor<64x64x7xf32>) outs(%2 : tensor<64x1x1300xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<64x1x1300xf32>
    func.return %y : tensor<64x1x1300xf32>
  }
}
// -- changes --
// erased: %p, %2, %y
...
%8 = tensor.pad %x low[0, 0, 3] high[0, 0, 4] {
^bb0(%9: index, %10: index, %11: index):
  %12 = arith.constant 0.000000e+00 : f32
  tensor.yield %12 : f32
} : tensor<64x1x1300xf32> to tensor<64x1x1307xf32>
%13 = tensor.extract_slice %8[0, 0, 0] [64, 1, 1306] [1, 1, 1] : tensor<64x1x1307xf32> to tensor<64x1x1306xf32>
...
%14 = ncnn.constant <[1, 1] inline "f4" "0000803f"> : tensor<1x1xf32>
%15 = ncnn.constant <[7, 7] inline "f4" "0000004000008040000020c00000a0c00000003f0000803f0000000000000000000000c00000c0c0000060c00000c03f0000803f00000000000000000000004000000040000090c0000000bf0000803f0000000000000000000080bf000020c000000000000020400000803f00000000000000000000803f0000c03f000000c00000c0bf0000803f000000000000000000008040000000000000a0c0000000000000803f00000000000000000000004000008040000020c00000a0c00000003f0000803f"> : tensor<7x7xf32>
%16 = ncnn.constant <[1, 1] inline "f4" "0000803f"> : tensor<1x1xf32>
%17 = ncnn.constant <[4, 7] inline "f4" "0000803f0000803f0000803f0000803f0000803f0000803f00000000000000000000803f000080bf00000040000000c0000000bf00000000000000000000803f0000803f00008040000080400000803e00000000000000000000803f000080bf00000041000000c1000000be0000803f"> : tensor<4x7xf32>
%18 = ncnn.constant <[1, 14, 64, 64] transformed [[1.0]] [[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [-0.1111111111111111, -0.1111111111111111, -0.1111111111111111, -0.1111111111111111, 0.0, 0.0, 0.0], [0.3333333333333333, -0.3333333333333333, 0.3333333333333333, -0.3333333333333333, 0.0, 0.0, 0.0], [0.016666666666666666, 0.03333333333333333, 0.06666666666666667, 0.13333333333333333, 0.0, 0.0, 0.0], [-0.027777777777777776, 0.05555555555555555, -0.1111111111111111, 0.2222222222222222, 0.0, 0.0, 0.0], [-0.7111111111111111, 0.35555555555555557, -0.17777777777777778, 0.08888888888888889, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, -0.1111111111111111, -0.1111111111111111, -0.1111111111111111], [0.0, 0.0, 0.0, 0.0, 0.3333333333333333, -0.3333333333333333, 0.3333333333333333], [0.0, 0.0, 0.0, 0.0, 0.016666666666666666, 0.03333333333333333, 0.06666666666666667], [0.0, 0.0, 0.0, 0.0, -0.027777777777777776, 0.05555555555555555, -0.1111111111111111], [0.0, 0.0, 0.0, 0.0, -0.7111111111111111, 0.35555555555555557, -0.17777777777777778], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]] -2 of <[64, 64, 1, 7] random 7 0 1.0 0.0>> : tensor<1x14x64x64xf32>
%19 = tensor.empty() : tensor<64x1x7x1x326xf32>
%20 = arith.constant 0.000000e+00 : f32
%21 = linalg.fill ins(%20 : f32) outs(%19 : tensor<64x1x7x1x326xf32>) -> tensor<64x1x7x1x326xf32>
%22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, (d3 + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%14, %15, %8 : tensor<1x1xf32>, tensor<7x7xf32>, tensor<64x1x1307xf32>) outs(%21 : tensor<64x1x7x1x326xf32>) attrs =  {separable = [[[1.000000e+00 : f32]], [[2.000000e+00 : f32, 4.000000e+00 : f32, -2.500000e+00 : f32, -5.000000e+00 : f32, 5.000000e-01 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -6.000000e+00 : f32, -3.500000e+00 : f32, 1.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, 2.000000e+00 : f32, -4.500000e+00 : f32, -5.000000e-01 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -1.000000e+00 : f32, -2.500000e+00 : f32, 0.000000e+00 : f32, 2.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.500000e+00 : f32, -2.000000e+00 : f32, -1.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, 4.000000e+00 : f32, -2.500000e+00 : f32, -5.000000e+00 : f32, 5.000000e-01 : f32, 1.000000e+00 : f32]]], tile = array<i64: 4, 163>} {
^bb0(%23: f32, %24: f32, %25: f32, %26: f32):
  %27 = arith.mulf %24, %25 : f32
  %28 = arith.mulf %23, %27 : f32
  %29 = arith.addf %26, %28 : f32
  linalg.yield %29 : f32
} -> tensor<64x1x7x1x326xf32>
%30 = tensor.empty() : tensor<64x1x7x1x325xf32>
%31 = arith.constant 0.000000e+00 : f32
%32 = linalg.fill ins(%31 : f32) outs(%30 : tensor<64x1x7x1x325xf32>) -> tensor<64x1x7x1x325xf32>
%33 = tensor.empty() : tensor<2xf32>
%34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d5, d1, d2, d3, (d6 + d4))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, ((d6 * 7) + d2), d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%22, %18, %33 : tensor<64x1x7x1x326xf32>, tensor<1x14x64x64xf32>, tensor<2xf32>) outs(%32 : tensor<64x1x7x1x325xf32>) {
^bb0(%35: f32, %36: f32, %37: f32, %38: f32):
  %39 = arith.mulf %35, %36 : f32
  %40 = arith.addf %38, %39 : f32
  linalg.yield %40 : f32
} -> tensor<64x1x7x1x325xf32>
%41 = tensor.empty() : tensor<64x1x1x325x4xf32>
%42 = arith.constant 0.000000e+00 : f32
%43 = linalg.fill ins(%42 : f32) outs(%41 : tensor<64x1x1x325x4xf32>) -> tensor<64x1x1x325x4xf32>
%44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%16, %17, %34 : tensor<1x1xf32>, tensor<4x7xf32>, tensor<64x1x7x1x325xf32>) outs(%43 : tensor<64x1x1x325x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, -5.000000e-01 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 2.500000e-01 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, -1.250000e-01 : f32, 1.000000e+00 : f32]]]} {
^bb0(%45: f32, %46: f32, %47: f32, %48: f32):
  %49 = arith.mulf %46, %47 : f32
  %50 = arith.mulf %45, %49 : f32
  %51 = arith.addf %48, %50 : f32
  linalg.yield %51 : f32
} -> tensor<64x1x1x325x4xf32>
%y_1 = tensor.collapse_shape %44 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<64x1x1x325x4xf32> into tensor<64x1x1300xf32>
func.return %y_1 : tensor<64x1x1300xf32>
