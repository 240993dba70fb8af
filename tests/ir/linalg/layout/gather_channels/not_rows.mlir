// passes: gather-channels
// Not: rows become columns as well.
builtin.module {
  func.func @network(%0: tensor<3x5x5xf32>, %1: tensor<3x5x5xf32>) -> tensor<6x5x5xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.concat dim(0) %0, %1 : (tensor<3x5x5xf32>, tensor<3x5x5xf32>) -> tensor<6x5x5xf32>
    %3 = tensor.empty() : tensor<3x2x5x5xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (((d1 * 3) + d0), d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layer"} ins(%2 : tensor<6x5x5xf32>) outs(%3 : tensor<3x2x5x5xf32>) {
    ^bb0(%5: f32, %6: f32):
      linalg.yield %5 : f32
    } -> tensor<3x2x5x5xf32>
    %7 = tensor.collapse_shape %4 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x2x5x5xf32> into tensor<6x5x5xf32>
    func.return %7 : tensor<6x5x5xf32>
  }
}
// -- changes --
// nothing
