// passes: tile-and-fuse
// Two iterations of four rows, and three rows behind them.
builtin.module {
  func.func @network(%0: tensor<2x11x4xf32>) -> tensor<2x11x4xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<2x11x4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<2x11x4xf32>) outs(%1 : tensor<2x11x4xf32>) attrs =  {tile = array<i64: 1, 4>} {
    ^bb0(%3: f32, %4: f32):
      %5 = arith.constant 0.000000e+00 : f32
      %6 = arith.maxnumf %3, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<2x11x4xf32>
    %7 = tensor.empty() : tensor<2x11x4xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%2 : tensor<2x11x4xf32>) outs(%7 : tensor<2x11x4xf32>) {
    ^bb0(%9: f32, %10: f32):
      %11 = arith.constant 0.000000e+00 : f32
      %12 = arith.maxnumf %9, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<2x11x4xf32>
    %13 = tensor.empty() : tensor<2x11x4xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%8 : tensor<2x11x4xf32>) outs(%13 : tensor<2x11x4xf32>) {
    ^bb0(%15: f32, %16: f32):
      %17 = arith.constant 0.000000e+00 : f32
      %18 = arith.maxnumf %15, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<2x11x4xf32>
    func.return %14 : tensor<2x11x4xf32>
  }
}
// -- changes --
// erased: %1, %2, %7, %8, %13, %14
%19 = "tiled.loop"(%0) <{count = 2 : i64, axes = array<i64: 1>, steps = array<i64: 4>, result_axes = array<i64: 1>}> ({
^bb0(%20: tensor<2x4x4xf32>):
  %21 = tensor.empty() : tensor<2x4x4xf32>
  %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%20 : tensor<2x4x4xf32>) outs(%21 : tensor<2x4x4xf32>) {
  ^bb0(%23: f32, %24: f32):
    %25 = arith.constant 0.000000e+00 : f32
    %26 = arith.maxnumf %23, %25 : f32
    linalg.yield %26 : f32
  } -> tensor<2x4x4xf32>
  %27 = tensor.empty() : tensor<2x4x4xf32>
  %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%22 : tensor<2x4x4xf32>) outs(%27 : tensor<2x4x4xf32>) {
  ^bb0(%29: f32, %30: f32):
    %31 = arith.constant 0.000000e+00 : f32
    %32 = arith.maxnumf %29, %31 : f32
    linalg.yield %32 : f32
  } -> tensor<2x4x4xf32>
  %33 = tensor.empty() : tensor<2x4x4xf32>
  %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%28 : tensor<2x4x4xf32>) outs(%33 : tensor<2x4x4xf32>) {
  ^bb0(%35: f32, %36: f32):
    %37 = arith.constant 0.000000e+00 : f32
    %38 = arith.maxnumf %35, %37 : f32
    linalg.yield %38 : f32
  } -> tensor<2x4x4xf32>
  tiled.yield %34 : tensor<2x4x4xf32>
}) : (tensor<2x11x4xf32>) -> tensor<2x8x4xf32>
%39 = tensor.extract_slice %0[0, 8, 0] [2, 3, 4] [1, 1, 1] : tensor<2x11x4xf32> to tensor<2x3x4xf32>
%40 = tensor.empty() : tensor<2x3x4xf32>
%41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%39 : tensor<2x3x4xf32>) outs(%40 : tensor<2x3x4xf32>) {
^bb0(%42: f32, %43: f32):
  %44 = arith.constant 0.000000e+00 : f32
  %45 = arith.maxnumf %42, %44 : f32
  linalg.yield %45 : f32
} -> tensor<2x3x4xf32>
%46 = tensor.empty() : tensor<2x3x4xf32>
%47 = like %41 of %41, %46
%52 = tensor.empty() : tensor<2x3x4xf32>
%53 = like %41 of %47, %52
%58 = tensor.concat dim(1) %19, %53 : (tensor<2x8x4xf32>, tensor<2x3x4xf32>) -> tensor<2x11x4xf32>
func.return %58 : tensor<2x11x4xf32>
