// passes: separate-groups
builtin.module {
  func.func @network(%x: tensor<48x28x30xf32>) -> (tensor<48x28x30xf32>) {
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<48x28x30xf32> to tensor<48x30x32xf32>
    %b = ncnn.constant <[2, 24] random 8 0 1.0 0.0> : tensor<2x24xf32>
    %w = ncnn.constant <[2, 24, 24, 3, 3] random 7 0 1.0 0.0> : tensor<2x24x24x3x3xf32>
    %0 = tensor.empty() : tensor<2x24x28x30xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%b : tensor<2x24xf32>) outs(%0 : tensor<2x24x28x30xf32>) {
    ^bb1(%2: f32, %3: f32):
      linalg.yield %2 : f32
    } -> tensor<2x24x28x30xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 24 + d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%p, %w : tensor<48x30x32xf32>, tensor<2x24x24x3x3xf32>) outs(%1 : tensor<2x24x28x30xf32>) {
    ^bb2(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.addf %6, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<2x24x28x30xf32>
    %z = tensor.collapse_shape %y [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x24x28x30xf32> into tensor<48x28x30xf32>
    %s = ncnn.constant <[48] random 9 0 1.0 0.0> : tensor<48xf32>
    %e = tensor.empty() : tensor<48x28x30xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z, %s : tensor<48x28x30xf32>, tensor<48xf32>) outs(%e : tensor<48x28x30xf32>) {
    ^bb3(%9: f32, %10: f32, %11: f32):
      %12 = arith.mulf %9, %10 : f32
      linalg.yield %12 : f32
    } -> tensor<48x28x30xf32>
    func.return %r : tensor<48x28x30xf32>
  }
}
// -- changes --
// erased: %zero, %p, %b, %w, %0, %1, %y, %z, %s, %e, %r
%13 = ncnn.constant <[1, 24] taken [0] 0 of <[2, 24] random 8 0 1.0 0.0>> : tensor<1x24xf32>
%14 = tensor.collapse_shape %13 [[0 : i64, 1 : i64]] : tensor<1x24xf32> into tensor<24xf32>
%15 = tensor.empty() : tensor<24x28x30xf32>
%16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "groups"} ins(%14 : tensor<24xf32>) outs(%15 : tensor<24x28x30xf32>) {
^bb0(%17: f32, %18: f32):
  linalg.yield %17 : f32
} -> tensor<24x28x30xf32>
%19 = tensor.extract_slice %x[0, 0, 0] [24, 28, 30] [1, 1, 1] : tensor<48x28x30xf32> to tensor<24x28x30xf32>
%20 = tensor.pad %19 low[0, 1, 1] high[0, 1, 1] {
^bb0(%21: index, %22: index, %23: index):
  %24 = arith.constant 0.000000e+00 : f32
  tensor.yield %24 : f32
} : tensor<24x28x30xf32> to tensor<24x30x32xf32>
%25 = ncnn.constant <[1, 24, 24, 3, 3] taken [0] 0 of <[2, 24, 24, 3, 3] random 7 0 1.0 0.0>> : tensor<1x24x24x3x3xf32>
%26 = tensor.collapse_shape %25 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<1x24x24x3x3xf32> into tensor<24x24x3x3xf32>
%27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%20, %26 : tensor<24x30x32xf32>, tensor<24x24x3x3xf32>) outs(%16 : tensor<24x28x30xf32>) {
^bb0(%28: f32, %29: f32, %30: f32):
  %31 = arith.mulf %28, %29 : f32
  %32 = arith.addf %30, %31 : f32
  linalg.yield %32 : f32
} -> tensor<24x28x30xf32>
%33 = ncnn.constant <[24] taken [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23] 0 of <[48] random 9 0 1.0 0.0>> : tensor<24xf32>
%34 = tensor.empty() : tensor<24x28x30xf32>
%35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%27, %33 : tensor<24x28x30xf32>, tensor<24xf32>) outs(%34 : tensor<24x28x30xf32>) {
^bb0(%36: f32, %37: f32, %38: f32):
  %39 = arith.mulf %36, %37 : f32
  linalg.yield %39 : f32
} -> tensor<24x28x30xf32>
%40 = ncnn.constant <[1, 24] taken [1] 0 of <[2, 24] random 8 0 1.0 0.0>> : tensor<1x24xf32>
%41 = tensor.collapse_shape %40 [[0 : i64, 1 : i64]] : tensor<1x24xf32> into tensor<24xf32>
%42 = tensor.empty() : tensor<24x28x30xf32>
%43 = like %16 of %41, %42
%46 = tensor.extract_slice %x[24, 0, 0] [24, 28, 30] [1, 1, 1] : tensor<48x28x30xf32> to tensor<24x28x30xf32>
%47 = like %20 of %46
%52 = ncnn.constant <[1, 24, 24, 3, 3] taken [1] 0 of <[2, 24, 24, 3, 3] random 7 0 1.0 0.0>> : tensor<1x24x24x3x3xf32>
%53 = tensor.collapse_shape %52 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<1x24x24x3x3xf32> into tensor<24x24x3x3xf32>
%54 = like %27 of %47, %53, %43
%60 = ncnn.constant <[24] taken [24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47] 0 of <[48] random 9 0 1.0 0.0>> : tensor<24xf32>
%61 = tensor.empty() : tensor<24x28x30xf32>
%62 = like %35 of %54, %60, %61
%r_1 = tensor.concat dim(0) %35, %62 : (tensor<24x28x30xf32>, tensor<24x28x30xf32>) -> tensor<48x28x30xf32>
func.return %r_1 : tensor<48x28x30xf32>
