// passes: conv1d-to-conv2d
builtin.module {
  func.func @network(%x: tensor<4x9xf32>, %m: tensor<5x8xf32>) -> (tensor<8x5xf32>, tensor<8x8xf32>) {
    %w = ncnn.constant <[8, 4, 3] random 7 0 1.0 0.0> : tensor<8x4x3xf32>
    %p = tensor.pad %x low[0, 1] high[0, 1] {
    ^bb0(%a: index, %b: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<4x9xf32> to tensor<4x11xf32>
    %0 = tensor.empty() : tensor<8x5xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<8x5xf32>) -> tensor<8x5xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d1 * 2 + d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"], doc = "strided"} ins(%p, %w : tensor<4x11xf32>, tensor<8x4x3xf32>) outs(%2 : tensor<8x5xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<8x5xf32>
    %n = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "negative"} ins(%y : tensor<8x5xf32>) outs(%0 : tensor<8x5xf32>) {
    ^bb0(%8: f32, %9: f32):
      %10 = arith.negf %8 : f32
      linalg.yield %10 : f32
    } -> tensor<8x5xf32>
    %11 = tensor.empty() : tensor<8x8xf32>
    %12 = linalg.fill ins(%1 : f32) outs(%11 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "product"} ins(%n, %m : tensor<8x5xf32>, tensor<5x8xf32>) outs(%12 : tensor<8x8xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = arith.mulf %13, %14 : f32
      %17 = arith.addf %15, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<8x8xf32>
    func.return %n, %q : tensor<8x5xf32>, tensor<8x8xf32>
  }
}
// -- changes --
// erased: %p, %0, %2, %y, %n
...
%18 = tensor.expand_shape %x [[0 : i64], [1 : i64, 2 : i64]] output_shape [4, 1, 9] : tensor<4x9xf32> into tensor<4x1x9xf32>
%19 = tensor.pad %18 low[0, 0, 1] high[0, 0, 1] {
^bb0(%20: index, %21: index, %22: index):
  %23 = arith.constant 0.000000e+00 : f32
  tensor.yield %23 : f32
} : tensor<4x1x9xf32> to tensor<4x1x11xf32>
...
%24 = tensor.empty() : tensor<8x1x5xf32>
%25 = arith.constant 0.000000e+00 : f32
%26 = linalg.fill ins(%25 : f32) outs(%24 : tensor<8x1x5xf32>) -> tensor<8x1x5xf32>
%27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d2, d4, ((d1 * 2) + d3))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"], doc = "strided"} ins(%19, %w : tensor<4x1x11xf32>, tensor<8x4x3xf32>) outs(%26 : tensor<8x1x5xf32>) {
^bb0(%28: f32, %29: f32, %30: f32):
  %31 = arith.mulf %28, %29 : f32
  %32 = arith.addf %30, %31 : f32
  linalg.yield %32 : f32
} -> tensor<8x1x5xf32>
%33 = tensor.empty() : tensor<8x1x5xf32>
%34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "negative"} ins(%27 : tensor<8x1x5xf32>) outs(%33 : tensor<8x1x5xf32>) {
^bb0(%35: f32, %36: f32):
  %37 = arith.negf %35 : f32
  linalg.yield %37 : f32
} -> tensor<8x1x5xf32>
%n_1 = tensor.collapse_shape %34 [[0 : i64], [1 : i64, 2 : i64]] : tensor<8x1x5xf32> into tensor<8x5xf32>
...
%q = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "product"} ins(%n_1, %m : tensor<8x5xf32>, tensor<5x8xf32>) outs(%12 : tensor<8x8xf32>) {
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %13, %14 : f32
  %17 = arith.addf %15, %16 : f32
  linalg.yield %17 : f32
} -> tensor<8x8xf32>
func.return %n_1, %q : tensor<8x5xf32>, tensor<8x8xf32>
