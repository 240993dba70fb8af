// passes: transpose-factors
// Fires: values and results are fewer than the probabilities between them, and are transposed instead.
builtin.module {
  func.func @network(%0: tensor<32x97xf32>, %1: tensor<97x97xf32>) -> tensor<32x97xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.empty() : tensor<32x97xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<32x97xf32>) -> tensor<32x97xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<32x97xf32>, tensor<97x97xf32>) outs(%4 : tensor<32x97xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<32x97xf32>
    func.return %5 : tensor<32x97xf32>
  }
}
// -- changes --
// erased: %5
...
%11 = tensor.empty() : tensor<97x32xf32>
%12 = arith.constant 0.000000e+00 : f32
%13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<97x32xf32>) -> tensor<97x32xf32>
%14 = tensor.empty() : tensor<97x32xf32>
%15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%0 : tensor<32x97xf32>) outs(%14 : tensor<97x32xf32>) {
^bb0(%16: f32, %17: f32):
  linalg.yield %16 : f32
} -> tensor<97x32xf32>
%18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d0)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%15, %1 : tensor<97x32xf32>, tensor<97x97xf32>) outs(%13 : tensor<97x32xf32>) {
^bb0(%19: f32, %20: f32, %21: f32):
  %22 = arith.mulf %19, %20 : f32
  %23 = arith.addf %21, %22 : f32
  linalg.yield %23 : f32
} -> tensor<97x32xf32>
%24 = tensor.empty() : tensor<32x97xf32>
%25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%18 : tensor<97x32xf32>) outs(%24 : tensor<32x97xf32>) {
^bb0(%26: f32, %27: f32):
  linalg.yield %26 : f32
} -> tensor<32x97xf32>
func.return %25 : tensor<32x97xf32>
