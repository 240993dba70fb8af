// passes: align-channels
builtin.module {
  func.func @network(%0: tensor<3x2x3xf32>, %1: tensor<3x2x3xf32>) -> tensor<6x2x3xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.empty() : tensor<3x2x3xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<3x2x3xf32>) outs(%2 : tensor<3x2x3xf32>) {
    ^bb0(%4: f32, %5: f32):
      %6 = arith.constant 2.000000e+00 : f32
      %7 = arith.mulf %4, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<3x2x3xf32>
    %8 = tensor.empty() : tensor<3x2x3xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%1 : tensor<3x2x3xf32>) outs(%8 : tensor<3x2x3xf32>) {
    ^bb0(%10: f32, %11: f32):
      %12 = arith.constant 3.000000e+00 : f32
      %13 = arith.mulf %10, %12 : f32
      linalg.yield %13 : f32
    } -> tensor<3x2x3xf32>
    %14 = tensor.concat dim(0) %3, %9 : (tensor<3x2x3xf32>, tensor<3x2x3xf32>) -> tensor<6x2x3xf32>
    %15 = tensor.empty() : tensor<6x2x3xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%14 : tensor<6x2x3xf32>) outs(%15 : tensor<6x2x3xf32>) {
    ^bb0(%17: f32, %18: f32):
      %19 = arith.constant 4.000000e+00 : f32
      %20 = arith.mulf %17, %19 : f32
      linalg.yield %20 : f32
    } -> tensor<6x2x3xf32>
    func.return %16 : tensor<6x2x3xf32>
  }
}
// -- changes --
...
%21 = arith.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xindex>
%22 = tensor.empty() : tensor<6x2x3xf32>
%23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layout"} ins(%21 : tensor<6xindex>) outs(%22 : tensor<6x2x3xf32>) attrs =  {channels = array<i64: 0, 1, 2, 3, 4, 5>} {
^bb0(%24: index, %25: f32):
  %26 = linalg.index 1 : index
  %27 = linalg.index 2 : index
  %28 = tensor.extract %14[%24, %26, %27] : tensor<6x2x3xf32>
  linalg.yield %28 : f32
} -> tensor<6x2x3xf32>
...
%16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%23 : tensor<6x2x3xf32>) outs(%15 : tensor<6x2x3xf32>) {
^bb0(%17: f32, %18: f32):
  %19 = arith.constant 4.000000e+00 : f32
  %20 = arith.mulf %17, %19 : f32
  linalg.yield %20 : f32
} -> tensor<6x2x3xf32>
...
