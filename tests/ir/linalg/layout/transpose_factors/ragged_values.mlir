// passes: transpose-factors
// Transposes the probabilities: of the lanes of 33 values a third would hold no result.
builtin.module {
  func.func @network(%0: tensor<33x97xf32>, %1: tensor<97x97xf32>) -> tensor<33x97xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.empty() : tensor<33x97xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<33x97xf32>) -> tensor<33x97xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<33x97xf32>, tensor<97x97xf32>) outs(%4 : tensor<33x97xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<33x97xf32>
    func.return %5 : tensor<33x97xf32>
  }
}
// -- changes --
...
%11 = tensor.empty() : tensor<97x97xf32>
%12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%1 : tensor<97x97xf32>) outs(%11 : tensor<97x97xf32>) {
^bb0(%13: f32, %14: f32):
  linalg.yield %13 : f32
} -> tensor<97x97xf32>
%5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %12 : tensor<33x97xf32>, tensor<97x97xf32>) outs(%4 : tensor<33x97xf32>) {
^bb0(%6: f32, %7: f32, %8: f32):
  %9 = arith.mulf %6, %7 : f32
  %10 = arith.addf %8, %9 : f32
  linalg.yield %10 : f32
} -> tensor<33x97xf32>
...
