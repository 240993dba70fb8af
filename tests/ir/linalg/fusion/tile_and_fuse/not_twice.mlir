// passes: tile-and-fuse
// Two rows of five, the last of which are fewer, are no loop: each stands for itself.
builtin.module {
  func.func @network(%0: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<2x8x4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<2x8x4xf32>) outs(%1 : tensor<2x8x4xf32>) attrs =  {tile = array<i64: 1, 5>} {
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
    %13 = tensor.empty() : tensor<2x8x4xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%8 : tensor<2x8x4xf32>) outs(%13 : tensor<2x8x4xf32>) {
    ^bb0(%15: f32, %16: f32):
      %17 = arith.constant 0.000000e+00 : f32
      %18 = arith.maxnumf %15, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<2x8x4xf32>
    func.return %14 : tensor<2x8x4xf32>
  }
}
// -- changes --
// erased: %1, %2, %7, %8, %13, %14
%19 = tensor.extract_slice %0[0, 0, 0] [2, 5, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x5x4xf32>
%20 = tensor.empty() : tensor<2x5x4xf32>
%21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%19 : tensor<2x5x4xf32>) outs(%20 : tensor<2x5x4xf32>) {
^bb0(%22: f32, %23: f32):
  %24 = arith.constant 0.000000e+00 : f32
  %25 = arith.maxnumf %22, %24 : f32
  linalg.yield %25 : f32
} -> tensor<2x5x4xf32>
%26 = tensor.empty() : tensor<2x5x4xf32>
%27 = like %21 of %21, %26
%32 = tensor.empty() : tensor<2x5x4xf32>
%33 = like %21 of %27, %32
%38 = tensor.extract_slice %0[0, 5, 0] [2, 3, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x3x4xf32>
%39 = tensor.empty() : tensor<2x3x4xf32>
%40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%38 : tensor<2x3x4xf32>) outs(%39 : tensor<2x3x4xf32>) {
^bb0(%41: f32, %42: f32):
  %43 = arith.constant 0.000000e+00 : f32
  %44 = arith.maxnumf %41, %43 : f32
  linalg.yield %44 : f32
} -> tensor<2x3x4xf32>
%45 = tensor.empty() : tensor<2x3x4xf32>
%46 = like %40 of %40, %45
%51 = tensor.empty() : tensor<2x3x4xf32>
%52 = like %40 of %46, %51
%57 = tensor.concat dim(1) %33, %52 : (tensor<2x5x4xf32>, tensor<2x3x4xf32>) -> tensor<2x8x4xf32>
func.return %57 : tensor<2x8x4xf32>
