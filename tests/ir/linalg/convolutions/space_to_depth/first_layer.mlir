// passes: space-to-depth
builtin.module {
  func.func @network(%x: tensor<3x113x113xf32>) -> (tensor<64x27x27xf32>) {
    %w = ncnn.constant <[64, 3, 11, 11] random 7 0 1.0 0.0> : tensor<64x3x11x11xf32>
    %p = tensor.pad %x low[0, 2, 2] high[0, 2, 2] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<3x113x113xf32> to tensor<3x117x117xf32>
    %0 = tensor.empty() : tensor<64x27x27xf32>
    %1 = arith.constant 2.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<64x27x27xf32>) -> tensor<64x27x27xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 * 4 + d4, d2 * 4 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "first"} ins(%p, %w : tensor<3x117x117xf32>, tensor<64x3x11x11xf32>) outs(%2 : tensor<64x27x27xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<64x27x27xf32>
    func.return %y : tensor<64x27x27xf32>
  }
}
// -- changes --
// erased: %w, %p, %y
...
%8 = tensor.pad %x low[0, 2, 2] high[0, 1, 1] {
^bb0(%9: index, %10: index, %11: index):
  %12 = arith.constant 0.000000e+00 : f32
  tensor.yield %12 : f32
} : tensor<3x113x113xf32> to tensor<3x116x116xf32>
%13 = tensor.expand_shape %8 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] output_shape [3, 29, 4, 29, 4] : tensor<3x116x116xf32> into tensor<3x29x4x29x4xf32>
%14 = tensor.empty() : tensor<3x4x4x29x29xf32>
%15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "first"} ins(%13 : tensor<3x29x4x29x4xf32>) outs(%14 : tensor<3x4x4x29x29xf32>) {
^bb0(%16: f32, %17: f32):
  linalg.yield %16 : f32
} -> tensor<3x4x4x29x29xf32>
%18 = tensor.collapse_shape %15 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] : tensor<3x4x4x29x29xf32> into tensor<48x29x29xf32>
%19 = ncnn.constant <[64, 48, 3, 3] unstrided 4 of <[64, 3, 11, 11] random 7 0 1.0 0.0>> : tensor<64x48x3x3xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "first"} ins(%18, %19 : tensor<48x29x29xf32>, tensor<64x48x3x3xf32>) outs(%2 : tensor<64x27x27xf32>) {
^bb0(%20: f32, %21: f32, %22: f32):
  %23 = arith.mulf %20, %21 : f32
  %24 = arith.addf %22, %23 : f32
  linalg.yield %24 : f32
} -> tensor<64x27x27xf32>
func.return %y_1 : tensor<64x27x27xf32>
