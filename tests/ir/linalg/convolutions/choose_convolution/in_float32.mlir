// passes: choose-convolution{bf16x3=true}
// 48 channels take as long as 64 on matrix tiles: F(4) is cheaper in float32, and `factors` says so.
builtin.module {
  func.func @network(%x: tensor<48x36x36xf32>) -> tensor<48x36x36xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %w = ncnn.constant <[48, 48, 3, 3] random 7 0 1.0 0.0> : tensor<48x48x3x3xf32>
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<48x36x36xf32> to tensor<48x38x38xf32>
    %0 = tensor.empty() : tensor<48x36x36xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<48x36x36xf32>) -> tensor<48x36x36xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "conv"} ins(%p, %w : tensor<48x38x38xf32>, tensor<48x48x3x3xf32>) outs(%2 : tensor<48x36x36xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<48x36x36xf32>
    func.return %y : tensor<48x36x36xf32>
  }
}
// -- changes --
// erased: %2, %y
...
%8 = ncnn.constant <[6, 6] inline "f4" "00008040000000000000a0c0000000000000803f0000000000000000000080c0000080c00000803f0000803f000000000000000000008040000080c0000080bf0000803f0000000000000000000000c0000080bf000000400000803f000000000000000000000040000080bf000000c00000803f000000000000000000008040000000000000a0c0000000000000803f"> : tensor<6x6xf32>
%9 = ncnn.constant <[4, 6] inline "f4" "0000803f0000803f0000803f0000803f0000803f00000000000000000000803f000080bf00000040000000c000000000000000000000803f0000803f000080400000804000000000000000000000803f000080bf00000041000000c10000803f"> : tensor<4x6xf32>
%10 = ncnn.constant <[6, 6, 48, 48] transformed [[0.25, 0.0, 0.0], [-0.16666666666666666, -0.16666666666666666, -0.16666666666666666], [-0.16666666666666666, 0.16666666666666666, -0.16666666666666666], [0.041666666666666664, 0.08333333333333333, 0.16666666666666666], [0.041666666666666664, -0.08333333333333333, 0.16666666666666666], [0.0, 0.0, 1.0]] [[0.25, 0.0, 0.0], [-0.16666666666666666, -0.16666666666666666, -0.16666666666666666], [-0.16666666666666666, 0.16666666666666666, -0.16666666666666666], [0.041666666666666664, 0.08333333333333333, 0.16666666666666666], [0.041666666666666664, -0.08333333333333333, 0.16666666666666666], [0.0, 0.0, 1.0]] -2 of <[48, 48, 3, 3] random 7 0 1.0 0.0>> : tensor<6x6x48x48xf32>
%11 = tensor.empty() : tensor<48x6x6x9x9xf32>
%12 = arith.constant 0.000000e+00 : f32
%13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<48x6x6x9x9xf32>) -> tensor<48x6x6x9x9xf32>
%14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%8, %8, %p : tensor<6x6xf32>, tensor<6x6xf32>, tensor<48x38x38xf32>) outs(%13 : tensor<48x6x6x9x9xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]], tile = array<i64: 3, 3>} {
^bb0(%15: f32, %16: f32, %17: f32, %18: f32):
  %19 = arith.mulf %16, %17 : f32
  %20 = arith.mulf %15, %19 : f32
  %21 = arith.addf %18, %20 : f32
  linalg.yield %21 : f32
} -> tensor<48x6x6x9x9xf32>
%22 = tensor.empty() : tensor<48x6x6x9x9xf32>
%23 = arith.constant 0.000000e+00 : f32
%24 = linalg.fill ins(%23 : f32) outs(%22 : tensor<48x6x6x9x9xf32>) -> tensor<48x6x6x9x9xf32>
%25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%14, %10 : tensor<48x6x6x9x9xf32>, tensor<6x6x48x48xf32>) outs(%24 : tensor<48x6x6x9x9xf32>) attrs =  {factors = f32} {
^bb0(%26: f32, %27: f32, %28: f32):
  %29 = arith.mulf %26, %27 : f32
  %30 = arith.addf %28, %29 : f32
  linalg.yield %30 : f32
} -> tensor<48x6x6x9x9xf32>
%31 = tensor.empty() : tensor<48x9x4x9x4xf32>
%32 = arith.constant 0.000000e+00 : f32
%33 = linalg.fill ins(%32 : f32) outs(%31 : tensor<48x9x4x9x4xf32>) -> tensor<48x9x4x9x4xf32>
%34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%9, %9, %25 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<48x6x6x9x9xf32>) outs(%33 : tensor<48x9x4x9x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
^bb0(%35: f32, %36: f32, %37: f32, %38: f32):
  %39 = arith.mulf %36, %37 : f32
  %40 = arith.mulf %35, %39 : f32
  %41 = arith.addf %38, %40 : f32
  linalg.yield %41 : f32
} -> tensor<48x9x4x9x4xf32>
%y_1 = tensor.collapse_shape %34 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<48x9x4x9x4xf32> into tensor<48x36x36xf32>
func.return %y_1 : tensor<48x36x36xf32>
