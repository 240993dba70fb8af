// passes: tile-and-fuse
// A pool whose windows reach into the next strip waits for the image.
builtin.module {
  func.func @network(%0: tensor<2x8x4xf32>) -> tensor<2x3x2xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<2x8x4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<2x8x4xf32>) outs(%1 : tensor<2x8x4xf32>) attrs =  {tile = array<i64: 1, 4>} {
    ^bb0(%3: f32, %4: f32):
      %5 = arith.constant 0.000000e+00 : f32
      %6 = arith.maxnumf %3, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<2x8x4xf32>
    %7 = tensor.empty() : tensor<2x8x4xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%2 : tensor<2x8x4xf32>) outs(%7 : tensor<2x8x4xf32>) {
    ^bb0(%9: f32, %10: f32):
      %11 = arith.constant 0.000000e+00 : f32
      %12 = arith.maxnumf %9, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<2x8x4xf32>
    %13 = tensor.empty() : tensor<2x3x2xf32>
    %14 = arith.constant 0xff800000 : f32
    %15 = linalg.fill ins(%14 : f32) outs(%13 : tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %16 = tensor.empty() : tensor<3x2xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%8, %16 : tensor<2x8x4xf32>, tensor<3x2xf32>) outs(%15 : tensor<2x3x2xf32>) {
    ^bb0(%18: f32, %19: f32, %20: f32):
      %21 = arith.maxnumf %20, %18 : f32
      linalg.yield %21 : f32
    } -> tensor<2x3x2xf32>
    func.return %17 : tensor<2x3x2xf32>
  }
}
// -- changes --
// erased: %1, %2, %7, %8
%22 = "tiled.loop"(%0) <{count = 2 : i64, axes = array<i64: 1>, steps = array<i64: 4>, result_axes = array<i64: 1>}> ({
^bb0(%23: tensor<2x4x4xf32>):
  %24 = tensor.empty() : tensor<2x4x4xf32>
  %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%23 : tensor<2x4x4xf32>) outs(%24 : tensor<2x4x4xf32>) {
  ^bb0(%26: f32, %27: f32):
    %28 = arith.constant 0.000000e+00 : f32
    %29 = arith.maxnumf %26, %28 : f32
    linalg.yield %29 : f32
  } -> tensor<2x4x4xf32>
  %30 = tensor.empty() : tensor<2x4x4xf32>
  %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%25 : tensor<2x4x4xf32>) outs(%30 : tensor<2x4x4xf32>) {
  ^bb0(%32: f32, %33: f32):
    %34 = arith.constant 0.000000e+00 : f32
    %35 = arith.maxnumf %32, %34 : f32
    linalg.yield %35 : f32
  } -> tensor<2x4x4xf32>
  tiled.yield %31 : tensor<2x4x4xf32>
}) : (tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
...
%17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + d3), ((d2 * 2) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%22, %16 : tensor<2x8x4xf32>, tensor<3x2xf32>) outs(%15 : tensor<2x3x2xf32>) {
^bb0(%18: f32, %19: f32, %20: f32):
  %21 = arith.maxnumf %20, %18 : f32
  linalg.yield %21 : f32
} -> tensor<2x3x2xf32>
...
