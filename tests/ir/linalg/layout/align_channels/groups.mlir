// passes: align-channels
builtin.module {
  func.func @network(%0: tensor<36x2x3xf32>) -> tensor<2x2x2x3xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[2, 2, 18] random 7 0 1.0 0.0> : tensor<2x2x18xf32>
    %2 = tensor.empty() : tensor<2x2x2x3xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<2x2x2x3xf32>) -> tensor<2x2x2x3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 18) + d4), d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<36x2x3xf32>, tensor<2x2x18xf32>) outs(%4 : tensor<2x2x2x3xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<2x2x2x3xf32>
    func.return %5 : tensor<2x2x2x3xf32>
  }
}
// -- changes --
...
%11 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35]> : tensor<64xindex>
%12 = tensor.empty() : tensor<64x2x3xf32>
%13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layout"} ins(%11 : tensor<64xindex>) outs(%12 : tensor<64x2x3xf32>) attrs =  {channels = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35>} {
^bb0(%14: index, %15: f32):
  %16 = linalg.index 1 : index
  %17 = linalg.index 2 : index
  %18 = tensor.extract %0[%14, %16, %17] : tensor<36x2x3xf32>
  linalg.yield %18 : f32
} -> tensor<64x2x3xf32>
%5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 32) + d4), d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%13, %1 : tensor<64x2x3xf32>, tensor<2x2x18xf32>) outs(%4 : tensor<2x2x2x3xf32>) {
^bb0(%6: f32, %7: f32, %8: f32):
  %9 = arith.mulf %6, %7 : f32
  %10 = arith.addf %8, %9 : f32
  linalg.yield %10 : f32
} -> tensor<2x2x2x3xf32>
...
