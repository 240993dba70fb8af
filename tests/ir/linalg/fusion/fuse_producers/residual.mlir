// passes: fuse-producers
builtin.module {
  func.func @network(%0: tensor<3x2x2xf32>) -> tensor<3x2x2xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[3] random 7 0 1.0 0.0> : tensor<3xf32>
    %2 = tensor.empty() : tensor<3x2x2xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %1 : tensor<3x2x2xf32>, tensor<3xf32>) outs(%2 : tensor<3x2x2xf32>) {
    ^bb0(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.constant -1.000000e+00 : f32
      %9 = arith.maxnumf %7, %8 : f32
      linalg.yield %9 : f32
    } -> tensor<3x2x2xf32>
    %10 = ncnn.constant <[3, 3] random 7 0 1.0 0.0> : tensor<3x3xf32>
    %11 = tensor.empty() : tensor<3x2x2xf32>
    %12 = arith.constant 0.000000e+00 : f32
    %13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %10 : tensor<3x2x2xf32>, tensor<3x3xf32>) outs(%13 : tensor<3x2x2xf32>) {
    ^bb0(%15: f32, %16: f32, %17: f32):
      %18 = arith.mulf %15, %16 : f32
      %19 = arith.addf %17, %18 : f32
      linalg.yield %19 : f32
    } -> tensor<3x2x2xf32>
    %20 = tensor.empty() : tensor<3x2x2xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%3, %14 : tensor<3x2x2xf32>, tensor<3x2x2xf32>) outs(%20 : tensor<3x2x2xf32>) {
    ^bb0(%22: f32, %23: f32, %24: f32):
      %25 = arith.constant 3.000000e+00 : f32
      %26 = arith.mulf %23, %25 : f32
      %27 = arith.addf %22, %26 : f32
      linalg.yield %27 : f32
    } -> tensor<3x2x2xf32>
    func.return %21 : tensor<3x2x2xf32>
  }
}
// -- changes --
// erased: %2, %3, %21
...
...
%28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %1, %14 : tensor<3x2x2xf32>, tensor<3xf32>, tensor<3x2x2xf32>) outs(%20 : tensor<3x2x2xf32>) {
^bb0(%29: f32, %30: f32, %31: f32, %32: f32):
  %33 = arith.mulf %29, %30 : f32
  %34 = arith.constant -1.000000e+00 : f32
  %35 = arith.maxnumf %33, %34 : f32
  %36 = arith.constant 3.000000e+00 : f32
  %37 = arith.mulf %31, %36 : f32
  %38 = arith.addf %35, %37 : f32
  linalg.yield %38 : f32
} -> tensor<3x2x2xf32>
func.return %28 : tensor<3x2x2xf32>
