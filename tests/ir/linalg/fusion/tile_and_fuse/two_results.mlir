// passes: tile-and-fuse
// Each iteration makes six rows of the image, of which four are its part of the result.
builtin.module {
  func.func @network(%0: tensor<2x12x4xf32>) -> (tensor<2x5x2xf32>, tensor<2x12x4xf32>) attributes {inputs = ["input0"], outputs = ["output0", "output1"]} {
    %1 = tensor.empty() : tensor<2x12x4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<2x12x4xf32>) outs(%1 : tensor<2x12x4xf32>) attrs =  {tile = array<i64: 1, 4>} {
    ^bb0(%3: f32, %4: f32):
      %5 = arith.constant 0.000000e+00 : f32
      %6 = arith.maxnumf %3, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<2x12x4xf32>
    %7 = tensor.empty() : tensor<2x5x2xf32>
    %8 = arith.constant 0xff800000 : f32
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<2x5x2xf32>) -> tensor<2x5x2xf32>
    %10 = tensor.empty() : tensor<4x2xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%2, %10 : tensor<2x12x4xf32>, tensor<4x2xf32>) outs(%9 : tensor<2x5x2xf32>) {
    ^bb0(%12: f32, %13: f32, %14: f32):
      %15 = arith.maxnumf %14, %12 : f32
      linalg.yield %15 : f32
    } -> tensor<2x5x2xf32>
    func.return %11, %2 : tensor<2x5x2xf32>, tensor<2x12x4xf32>
  }
}
// -- changes --
// erased: %1, %2, %7, %8, %9, %11
...
%16, %17 = "tiled.loop"(%0) <{count = 2 : i64, axes = array<i64: 1>, steps = array<i64: 4>, result_axes = array<i64: 1, 1>}> ({
^bb0(%18: tensor<2x6x4xf32>):
  %19 = tensor.empty() : tensor<2x6x4xf32>
  %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%18 : tensor<2x6x4xf32>) outs(%19 : tensor<2x6x4xf32>) {
  ^bb0(%21: f32, %22: f32):
    %23 = arith.constant 0.000000e+00 : f32
    %24 = arith.maxnumf %21, %23 : f32
    linalg.yield %24 : f32
  } -> tensor<2x6x4xf32>
  %25 = tensor.empty() : tensor<2x2x2xf32>
  %26 = arith.constant 0xff800000 : f32
  %27 = linalg.fill ins(%26 : f32) outs(%25 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%20, %10 : tensor<2x6x4xf32>, tensor<4x2xf32>) outs(%27 : tensor<2x2x2xf32>) {
  ^bb0(%29: f32, %30: f32, %31: f32):
    %32 = arith.maxnumf %31, %29 : f32
    linalg.yield %32 : f32
  } -> tensor<2x2x2xf32>
  %33 = tensor.extract_slice %20[0, 0, 0] [2, 4, 4] [1, 1, 1] : tensor<2x6x4xf32> to tensor<2x4x4xf32>
  tiled.yield %33, %28 : tensor<2x4x4xf32>, tensor<2x2x2xf32>
}) : (tensor<2x12x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x4x2xf32>)
%34 = tensor.extract_slice %0[0, 8, 0] [2, 4, 4] [1, 1, 1] : tensor<2x12x4xf32> to tensor<2x4x4xf32>
%35 = tensor.empty() : tensor<2x4x4xf32>
%36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%34 : tensor<2x4x4xf32>) outs(%35 : tensor<2x4x4xf32>) {
^bb0(%37: f32, %38: f32):
  %39 = arith.constant 0.000000e+00 : f32
  %40 = arith.maxnumf %37, %39 : f32
  linalg.yield %40 : f32
} -> tensor<2x4x4xf32>
%41 = tensor.empty() : tensor<2x1x2xf32>
%42 = arith.constant 0xff800000 : f32
%43 = linalg.fill ins(%42 : f32) outs(%41 : tensor<2x1x2xf32>) -> tensor<2x1x2xf32>
%44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%36, %10 : tensor<2x4x4xf32>, tensor<4x2xf32>) outs(%43 : tensor<2x1x2xf32>) {
^bb0(%45: f32, %46: f32, %47: f32):
  %48 = arith.maxnumf %47, %45 : f32
  linalg.yield %48 : f32
} -> tensor<2x1x2xf32>
%49 = tensor.concat dim(1) %16, %36 : (tensor<2x8x4xf32>, tensor<2x4x4xf32>) -> tensor<2x12x4xf32>
%50 = tensor.concat dim(1) %17, %44 : (tensor<2x4x2xf32>, tensor<2x1x2xf32>) -> tensor<2x5x2xf32>
func.return %50, %49 : tensor<2x5x2xf32>, tensor<2x12x4xf32>
