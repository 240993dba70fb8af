// passes: fuse-producers
// Not: it is read at another index than it is written at.
builtin.module {
  func.func @network(%0: tensor<3x2x2xf32>) -> tensor<3x2x2xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<3x2x2xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<3x2x2xf32>) outs(%1 : tensor<3x2x2xf32>) {
    ^bb0(%3: f32, %4: f32):
      %5 = arith.constant 2.000000e+00 : f32
      %6 = arith.mulf %3, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<3x2x2xf32>
    %7 = ncnn.constant <[3, 3] random 7 0 1.0 0.0> : tensor<3x3xf32>
    %8 = tensor.empty() : tensor<3x2x2xf32>
    %9 = arith.constant 0.000000e+00 : f32
    %10 = linalg.fill ins(%9 : f32) outs(%8 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %7 : tensor<3x2x2xf32>, tensor<3x3xf32>) outs(%10 : tensor<3x2x2xf32>) {
    ^bb0(%12: f32, %13: f32, %14: f32):
      %15 = arith.mulf %12, %13 : f32
      %16 = arith.addf %14, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<3x2x2xf32>
    %17 = tensor.empty() : tensor<3x2x2xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%2, %11 : tensor<3x2x2xf32>, tensor<3x2x2xf32>) outs(%17 : tensor<3x2x2xf32>) {
    ^bb0(%19: f32, %20: f32, %21: f32):
      %22 = arith.constant 3.000000e+00 : f32
      %23 = arith.mulf %20, %22 : f32
      %24 = arith.addf %19, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<3x2x2xf32>
    func.return %18 : tensor<3x2x2xf32>
  }
}
// -- changes --
// nothing
