// passes: join-groups
builtin.module {
  func.func @network(%x: tensor<40x6x7xf32>) -> (tensor<40x6x7xf32>) {
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<40x6x7xf32> to tensor<40x8x9xf32>
    %b = ncnn.constant <[5, 8] random 8 0 1.0 0.0> : tensor<5x8xf32>
    %w = ncnn.constant <[5, 8, 8, 3, 3] random 7 0 1.0 0.0> : tensor<5x8x8x3x3xf32>
    %0 = tensor.empty() : tensor<5x8x6x7xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%b : tensor<5x8xf32>) outs(%0 : tensor<5x8x6x7xf32>) {
    ^bb1(%2: f32, %3: f32):
      linalg.yield %2 : f32
    } -> tensor<5x8x6x7xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 8 + d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%p, %w : tensor<40x8x9xf32>, tensor<5x8x8x3x3xf32>) outs(%1 : tensor<5x8x6x7xf32>) {
    ^bb2(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.addf %6, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<5x8x6x7xf32>
    %z = tensor.collapse_shape %y [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<5x8x6x7xf32> into tensor<40x6x7xf32>
    %s = ncnn.constant <[40] random 9 0 1.0 0.0> : tensor<40xf32>
    %e = tensor.empty() : tensor<40x6x7xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z, %s : tensor<40x6x7xf32>, tensor<40xf32>) outs(%e : tensor<40x6x7xf32>) {
    ^bb3(%9: f32, %10: f32, %11: f32):
      %12 = arith.mulf %9, %10 : f32
      linalg.yield %12 : f32
    } -> tensor<40x6x7xf32>
    func.return %r : tensor<40x6x7xf32>
  }
}
// -- changes --
// erased: %zero, %p, %b, %w, %0, %1, %y, %z
%13 = tensor.extract_slice %x[0, 0, 0] [32, 6, 7] [1, 1, 1] : tensor<40x6x7xf32> to tensor<32x6x7xf32>
%14 = tensor.pad %13 low[0, 1, 1] high[0, 1, 1] {
^bb0(%15: index, %16: index, %17: index):
  %18 = arith.constant 0.000000e+00 : f32
  tensor.yield %18 : f32
} : tensor<32x6x7xf32> to tensor<32x8x9xf32>
%19 = ncnn.constant <[2, 16, 16, 3, 3] joined 2 of <[4, 8, 8, 3, 3] taken [0, 1, 2, 3] 0 of <[5, 8, 8, 3, 3] random 7 0 1.0 0.0>>> : tensor<2x16x16x3x3xf32>
%20 = ncnn.constant <[4, 8] taken [0, 1, 2, 3] 0 of <[5, 8] random 8 0 1.0 0.0>> : tensor<4x8xf32>
%21 = tensor.collapse_shape %20 [[0 : i64, 1 : i64]] : tensor<4x8xf32> into tensor<32xf32>
%22 = tensor.expand_shape %21 [[0 : i64, 1 : i64]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
%23 = tensor.empty() : tensor<2x16x6x7xf32>
%24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%22 : tensor<2x16xf32>) outs(%23 : tensor<2x16x6x7xf32>) {
^bb0(%25: f32, %26: f32):
  linalg.yield %25 : f32
} -> tensor<2x16x6x7xf32>
%27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (((d0 * 16) + d4), (d2 + d5), (d3 + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%14, %19 : tensor<32x8x9xf32>, tensor<2x16x16x3x3xf32>) outs(%24 : tensor<2x16x6x7xf32>) {
^bb0(%28: f32, %29: f32, %30: f32):
  %31 = arith.mulf %28, %29 : f32
  %32 = arith.addf %30, %31 : f32
  linalg.yield %32 : f32
} -> tensor<2x16x6x7xf32>
%33 = tensor.collapse_shape %27 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x6x7xf32> into tensor<32x6x7xf32>
%34 = tensor.extract_slice %x[32, 0, 0] [8, 6, 7] [1, 1, 1] : tensor<40x6x7xf32> to tensor<8x6x7xf32>
%35 = tensor.pad %34 low[0, 1, 1] high[0, 1, 1] {
^bb0(%36: index, %37: index, %38: index):
  %39 = arith.constant 0.000000e+00 : f32
  tensor.yield %39 : f32
} : tensor<8x6x7xf32> to tensor<8x8x9xf32>
%40 = ncnn.constant <[1, 8, 8, 3, 3] joined 1 of <[1, 8, 8, 3, 3] taken [4] 0 of <[5, 8, 8, 3, 3] random 7 0 1.0 0.0>>> : tensor<1x8x8x3x3xf32>
%41 = tensor.collapse_shape %40 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<1x8x8x3x3xf32> into tensor<8x8x3x3xf32>
%42 = ncnn.constant <[1, 8] taken [4] 0 of <[5, 8] random 8 0 1.0 0.0>> : tensor<1x8xf32>
%43 = tensor.collapse_shape %42 [[0 : i64, 1 : i64]] : tensor<1x8xf32> into tensor<8xf32>
%44 = tensor.empty() : tensor<8x6x7xf32>
%45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "groups"} ins(%43 : tensor<8xf32>) outs(%44 : tensor<8x6x7xf32>) {
^bb0(%46: f32, %47: f32):
  linalg.yield %46 : f32
} -> tensor<8x6x7xf32>
%48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%35, %41 : tensor<8x8x9xf32>, tensor<8x8x3x3xf32>) outs(%45 : tensor<8x6x7xf32>) {
^bb0(%49: f32, %50: f32, %51: f32):
  %52 = arith.mulf %49, %50 : f32
  %53 = arith.addf %51, %52 : f32
  linalg.yield %53 : f32
} -> tensor<8x6x7xf32>
%z_1 = tensor.concat dim(0) %33, %48 : (tensor<32x6x7xf32>, tensor<8x6x7xf32>) -> tensor<40x6x7xf32>
...
%r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z_1, %s : tensor<40x6x7xf32>, tensor<40xf32>) outs(%e : tensor<40x6x7xf32>) {
^bb0(%9: f32, %10: f32, %11: f32):
  %12 = arith.mulf %9, %10 : f32
  linalg.yield %12 : f32
} -> tensor<40x6x7xf32>
...
