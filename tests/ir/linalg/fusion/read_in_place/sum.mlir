// passes: read-in-place
// Every other lane of two blocks, for a sum over them.
builtin.module {
  func.func @network(%0: tensor<2x3x2x16xf32>) -> tensor<1x3x2x16xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = arith.constant dense<[[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]]> : tensor<1x16xindex>
    %2 = arith.constant dense<[[0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14]]> : tensor<1x16xindex>
    %3 = tensor.empty() : tensor<1x3x2x16xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layer"} ins(%1, %2 : tensor<1x16xindex>, tensor<1x16xindex>) outs(%3 : tensor<1x3x2x16xf32>) attrs =  {lanes = array<i64: 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>} {
    ^bb0(%5: index, %6: index, %7: f32):
      %8 = linalg.index 1 : index
      %9 = linalg.index 2 : index
      %10 = tensor.extract %0[%5, %8, %9, %6] : tensor<2x3x2x16xf32>
      linalg.yield %10 : f32
    } -> tensor<1x3x2x16xf32>
    %11 = ncnn.constant <[1, 1, 16, 16] random 7 0 1.0 0.0> : tensor<1x1x16x16xf32>
    %12 = tensor.empty() : tensor<1x3x2x16xf32>
    %13 = arith.constant 0.000000e+00 : f32
    %14 = linalg.fill ins(%13 : f32) outs(%12 : tensor<1x3x2x16xf32>) -> tensor<1x3x2x16xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%4, %11 : tensor<1x3x2x16xf32>, tensor<1x1x16x16xf32>) outs(%14 : tensor<1x3x2x16xf32>) {
    ^bb0(%16: f32, %17: f32, %18: f32):
      %19 = arith.mulf %16, %17 : f32
      %20 = arith.addf %18, %19 : f32
      linalg.yield %20 : f32
    } -> tensor<1x3x2x16xf32>
    func.return %15 : tensor<1x3x2x16xf32>
  }
}
// -- changes --
// erased: %1, %2, %3, %4
%21 = tensor.collapse_shape %0 [[0 : i64, 1 : i64, 2 : i64, 3 : i64]] : tensor<2x3x2x16xf32> into tensor<192xf32>
%22 = arith.constant dense<[[0, 2, 4, 6, 8, 10, 12, 14, 96, 98, 100, 102, 104, 106, 108, 110]]> : tensor<1x16xindex>
%23 = tensor.empty() : tensor<1x3x2x16xf32>
%24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layer"} ins(%22 : tensor<1x16xindex>) outs(%23 : tensor<1x3x2x16xf32>) attrs =  {lanes = array<i64: 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>} {
^bb0(%25: index, %26: f32):
  %27 = linalg.index 1 : index
  %28 = arith.constant 32 : index
  %29 = arith.muli %27, %28 : index
  %30 = arith.addi %25, %29 : index
  %31 = linalg.index 2 : index
  %32 = arith.constant 16 : index
  %33 = arith.muli %31, %32 : index
  %34 = arith.addi %30, %33 : index
  %35 = tensor.extract %21[%34] : tensor<192xf32>
  linalg.yield %35 : f32
} -> tensor<1x3x2x16xf32>
...
%15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%24, %11 : tensor<1x3x2x16xf32>, tensor<1x1x16x16xf32>) outs(%14 : tensor<1x3x2x16xf32>) {
^bb0(%16: f32, %17: f32, %18: f32):
  %19 = arith.mulf %16, %17 : f32
  %20 = arith.addf %18, %19 : f32
  linalg.yield %20 : f32
} -> tensor<1x3x2x16xf32>
...
