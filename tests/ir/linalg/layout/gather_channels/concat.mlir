// passes: gather-channels
builtin.module {
  func.func @network(%0: tensor<3x2x5xf32>, %1: tensor<3x2x5xf32>) -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>) attributes {inputs = ["input0", "input1"], outputs = ["output0", "output1"]} {
    %2 = tensor.empty() : tensor<3x2x5xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<3x2x5xf32>) outs(%2 : tensor<3x2x5xf32>) {
    ^bb0(%4: f32, %5: f32):
      %6 = arith.constant 2.000000e+00 : f32
      %7 = arith.mulf %4, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<3x2x5xf32>
    %8 = tensor.empty() : tensor<3x2x5xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%1 : tensor<3x2x5xf32>) outs(%8 : tensor<3x2x5xf32>) {
    ^bb0(%10: f32, %11: f32):
      %12 = arith.constant 2.000000e+00 : f32
      %13 = arith.mulf %10, %12 : f32
      linalg.yield %13 : f32
    } -> tensor<3x2x5xf32>
    %14 = tensor.concat dim(0) %3, %9 : (tensor<3x2x5xf32>, tensor<3x2x5xf32>) -> tensor<6x2x5xf32>
    %15 = tensor.empty() : tensor<3x2x2x5xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (((d1 * 3) + d0), d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layer"} ins(%14 : tensor<6x2x5xf32>) outs(%15 : tensor<3x2x2x5xf32>) {
    ^bb0(%17: f32, %18: f32):
      linalg.yield %17 : f32
    } -> tensor<3x2x2x5xf32>
    %19 = tensor.collapse_shape %16 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x2x2x5xf32> into tensor<6x2x5xf32>
    %20 = tensor.extract_slice %19[0, 0, 0] [3, 2, 5] [1, 1, 1] : tensor<6x2x5xf32> to tensor<3x2x5xf32>
    %21 = tensor.extract_slice %19[3, 0, 0] [3, 2, 5] [1, 1, 1] : tensor<6x2x5xf32> to tensor<3x2x5xf32>
    func.return %20, %21 : tensor<3x2x5xf32>, tensor<3x2x5xf32>
  }
}
// -- changes --
// erased: %15, %16, %19, %20, %21
...
%22 = arith.constant dense<[0, 3, 1]> : tensor<3xindex>
%23 = tensor.empty() : tensor<3x2x5xf32>
%24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%22 : tensor<3xindex>) outs(%23 : tensor<3x2x5xf32>) attrs =  {channels = array<i64: 0, 3, 1>} {
^bb0(%25: index, %26: f32):
  %27 = linalg.index 1 : index
  %28 = linalg.index 2 : index
  %29 = tensor.extract %14[%25, %27, %28] : tensor<6x2x5xf32>
  linalg.yield %29 : f32
} -> tensor<3x2x5xf32>
%30 = arith.constant dense<[4, 2, 5]> : tensor<3xindex>
%31 = tensor.empty() : tensor<3x2x5xf32>
%32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%30 : tensor<3xindex>) outs(%31 : tensor<3x2x5xf32>) attrs =  {channels = array<i64: 4, 2, 5>} {
^bb0(%33: index, %34: f32):
  %35 = linalg.index 1 : index
  %36 = linalg.index 2 : index
  %37 = tensor.extract %14[%33, %35, %36] : tensor<6x2x5xf32>
  linalg.yield %37 : f32
} -> tensor<3x2x5xf32>
func.return %24, %32 : tensor<3x2x5xf32>, tensor<3x2x5xf32>
