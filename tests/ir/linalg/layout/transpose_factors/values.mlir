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
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<32x97xf32>, %1: tensor<97x97xf32>) -> tensor<32x97xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.empty() : tensor<32x97xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<32x97xf32>) -> tensor<32x97xf32>
    %5 = tensor.empty() : tensor<97x32xf32>
    %6 = arith.constant 0.000000e+00 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<97x32xf32>) -> tensor<97x32xf32>
    %8 = tensor.empty() : tensor<97x32xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%0 : tensor<32x97xf32>) outs(%8 : tensor<97x32xf32>) {
    ^bb0(%10: f32, %11: f32):
      linalg.yield %10 : f32
    } -> tensor<97x32xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d0)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%9, %1 : tensor<97x32xf32>, tensor<97x97xf32>) outs(%7 : tensor<97x32xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = arith.mulf %13, %14 : f32
      %17 = arith.addf %15, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<97x32xf32>
    %18 = tensor.empty() : tensor<32x97xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%12 : tensor<97x32xf32>) outs(%18 : tensor<32x97xf32>) {
    ^bb0(%20: f32, %21: f32):
      linalg.yield %20 : f32
    } -> tensor<32x97xf32>
    func.return %19 : tensor<32x97xf32>
  }
}
