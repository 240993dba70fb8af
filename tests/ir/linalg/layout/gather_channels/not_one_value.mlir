// passes: gather-channels
// Not: its channels lie in blocks, or planes, of one value.
builtin.module {
  func.func @network(%0: tensor<6x2x5xf32>) -> tensor<6x2x5xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<6x2x5xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<6x2x5xf32>) outs(%1 : tensor<6x2x5xf32>) {
    ^bb0(%3: f32, %4: f32):
      %5 = arith.constant 2.000000e+00 : f32
      %6 = arith.mulf %3, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<6x2x5xf32>
    %7 = tensor.empty() : tensor<3x2x2x5xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (((d1 * 3) + d0), d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layer"} ins(%2 : tensor<6x2x5xf32>) outs(%7 : tensor<3x2x2x5xf32>) {
    ^bb0(%9: f32, %10: f32):
      linalg.yield %9 : f32
    } -> tensor<3x2x2x5xf32>
    %11 = tensor.collapse_shape %8 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x2x2x5xf32> into tensor<6x2x5xf32>
    func.return %11 : tensor<6x2x5xf32>
  }
}
// -- changes --
// nothing
