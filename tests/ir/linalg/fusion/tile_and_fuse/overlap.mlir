// passes: tile-and-fuse
// Iterations make two rows of the next one, too, for a pool that reads them.
builtin.module {
  func.func @network(%0: tensor<2x12x4xf32>) -> tensor<2x5x2xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
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
    func.return %11 : tensor<2x5x2xf32>
  }
}
// -- changes --
// erased: %1, %2, %7, %8, %9, %11
...
%16 = "tiled.loop"(%0) <{count = 2 : i64, axes = array<i64: 1>, steps = array<i64: 4>, result_axes = array<i64: 1>}> ({
^bb0(%17: tensor<2x6x4xf32>):
  %18 = tensor.empty() : tensor<2x6x4xf32>
  %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%17 : tensor<2x6x4xf32>) outs(%18 : tensor<2x6x4xf32>) {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 0.000000e+00 : f32
    %23 = arith.maxnumf %20, %22 : f32
    linalg.yield %23 : f32
  } -> tensor<2x6x4xf32>
  %24 = tensor.empty() : tensor<2x2x2xf32>
  %25 = arith.constant 0xff800000 : f32
  %26 = linalg.fill ins(%25 : f32) outs(%24 : tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%19, %10 : tensor<2x6x4xf32>, tensor<4x2xf32>) outs(%26 : tensor<2x2x2xf32>) {
  ^bb0(%28: f32, %29: f32, %30: f32):
    %31 = arith.maxnumf %30, %28 : f32
    linalg.yield %31 : f32
  } -> tensor<2x2x2xf32>
  tiled.yield %27 : tensor<2x2x2xf32>
}) : (tensor<2x12x4xf32>) -> tensor<2x4x2xf32>
%32 = tensor.extract_slice %0[0, 8, 0] [2, 4, 4] [1, 1, 1] : tensor<2x12x4xf32> to tensor<2x4x4xf32>
%33 = tensor.empty() : tensor<2x4x4xf32>
%34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%32 : tensor<2x4x4xf32>) outs(%33 : tensor<2x4x4xf32>) {
^bb0(%35: f32, %36: f32):
  %37 = arith.constant 0.000000e+00 : f32
  %38 = arith.maxnumf %35, %37 : f32
  linalg.yield %38 : f32
} -> tensor<2x4x4xf32>
%39 = tensor.empty() : tensor<2x1x2xf32>
%40 = arith.constant 0xff800000 : f32
%41 = linalg.fill ins(%40 : f32) outs(%39 : tensor<2x1x2xf32>) -> tensor<2x1x2xf32>
%42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%34, %10 : tensor<2x4x4xf32>, tensor<4x2xf32>) outs(%41 : tensor<2x1x2xf32>) {
^bb0(%43: f32, %44: f32, %45: f32):
  %46 = arith.maxnumf %45, %43 : f32
  linalg.yield %46 : f32
} -> tensor<2x1x2xf32>
%47 = tensor.concat dim(1) %16, %42 : (tensor<2x4x2xf32>, tensor<2x1x2xf32>) -> tensor<2x5x2xf32>
func.return %47 : tensor<2x5x2xf32>
