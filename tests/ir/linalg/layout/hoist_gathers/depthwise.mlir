// passes: hoist-gathers
builtin.module {
  func.func @network(%0: tensor<4x3x2xf32>) -> tensor<3x2x2xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = arith.constant dense<[3, 2, 1, 0]> : tensor<4xindex>
    %2 = tensor.empty() : tensor<4x3x2xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%1 : tensor<4xindex>) outs(%2 : tensor<4x3x2xf32>) attrs =  {channels = array<i64: 3, 2, 1, 0>} {
    ^bb0(%4: index, %5: f32):
      %6 = linalg.index 1 : index
      %7 = linalg.index 2 : index
      %8 = tensor.extract %0[%4, %6, %7] : tensor<4x3x2xf32>
      linalg.yield %8 : f32
    } -> tensor<4x3x2xf32>
    %9 = ncnn.constant <[4, 2] random 7 0 1.0 0.0> : tensor<4x2xf32>
    %10 = tensor.empty() : tensor<4x2x2xf32>
    %11 = arith.constant 0.000000e+00 : f32
    %12 = linalg.fill ins(%11 : f32) outs(%10 : tensor<4x2x2xf32>) -> tensor<4x2x2xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%3, %9 : tensor<4x3x2xf32>, tensor<4x2xf32>) outs(%12 : tensor<4x2x2xf32>) {
    ^bb0(%14: f32, %15: f32, %16: f32):
      %17 = arith.mulf %14, %15 : f32
      %18 = arith.addf %16, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<4x2x2xf32>
    %19 = arith.constant dense<[1, 0, 3]> : tensor<3xindex>
    %20 = tensor.empty() : tensor<3x2x2xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%19 : tensor<3xindex>) outs(%20 : tensor<3x2x2xf32>) attrs =  {channels = array<i64: 1, 0, 3>} {
    ^bb0(%22: index, %23: f32):
      %24 = linalg.index 1 : index
      %25 = linalg.index 2 : index
      %26 = tensor.extract %13[%22, %24, %25] : tensor<4x2x2xf32>
      linalg.yield %26 : f32
    } -> tensor<3x2x2xf32>
    func.return %21 : tensor<3x2x2xf32>
  }
}
// -- changes --
// erased: %1, %2, %3, %9, %10, %11, %12, %13, %19, %20, %21
%27 = arith.constant dense<[2, 3, 0]> : tensor<3xindex>
%28 = tensor.empty() : tensor<3x3x2xf32>
%29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%27 : tensor<3xindex>) outs(%28 : tensor<3x3x2xf32>) attrs =  {channels = array<i64: 2, 3, 0>} {
^bb0(%30: index, %31: f32):
  %32 = linalg.index 1 : index
  %33 = linalg.index 2 : index
  %34 = tensor.extract %0[%30, %32, %33] : tensor<4x3x2xf32>
  linalg.yield %34 : f32
} -> tensor<3x3x2xf32>
%35 = ncnn.constant <[3, 2] taken [1, 0, 3] 0 of <[4, 2] random 7 0 1.0 0.0>> : tensor<3x2xf32>
%36 = tensor.empty() : tensor<3x2x2xf32>
%37 = arith.constant 0.000000e+00 : f32
%38 = linalg.fill ins(%37 : f32) outs(%36 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
%39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%29, %35 : tensor<3x3x2xf32>, tensor<3x2xf32>) outs(%38 : tensor<3x2x2xf32>) {
^bb0(%40: f32, %41: f32, %42: f32):
  %43 = arith.mulf %40, %41 : f32
  %44 = arith.addf %42, %43 : f32
  linalg.yield %44 : f32
} -> tensor<3x2x2xf32>
func.return %39 : tensor<3x2x2xf32>
