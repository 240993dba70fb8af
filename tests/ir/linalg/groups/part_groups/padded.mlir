// passes: part-groups
builtin.module {
  func.func @network(%0: tensor<32x5x6xf32>, %1: tensor<16x2x3xf32>) -> tensor<16x5x6xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
    %2 = tensor.pad %0 low[0, 0, 1] high[0, 0, 1] {
    ^bb0(%3: index, %4: index, %5: index):
      %6 = arith.constant 5.000000e-01 : f32
      tensor.yield %6 : f32
    } : tensor<32x5x6xf32> to tensor<32x5x8xf32>
    %7 = tensor.empty() : tensor<16x5x6xf32>
    %8 = arith.constant 0.000000e+00 : f32
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<16x5x6xf32>) -> tensor<16x5x6xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 2) + d3), d1, (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%2, %1 : tensor<32x5x8xf32>, tensor<16x2x3xf32>) outs(%9 : tensor<16x5x6xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.mulf %11, %12 : f32
      %15 = arith.addf %13, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<16x5x6xf32>
    func.return %10 : tensor<16x5x6xf32>
  }
}
// -- changes --
// erased: %2
...
%16 = tensor.empty() : tensor<16x2x5x6xf32>
%17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (((d0 * 2) + d1), d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%0 : tensor<32x5x6xf32>) outs(%16 : tensor<16x2x5x6xf32>) {
^bb0(%18: f32, %19: f32):
  linalg.yield %18 : f32
} -> tensor<16x2x5x6xf32>
%20 = tensor.pad %17 low[0, 0, 0, 1] high[0, 0, 0, 1] {
^bb0(%21: index, %22: index, %23: index, %24: index):
  %25 = arith.constant 5.000000e-01 : f32
  tensor.yield %25 : f32
} : tensor<16x2x5x6xf32> to tensor<16x2x5x8xf32>
%10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "layer"} ins(%20, %1 : tensor<16x2x5x8xf32>, tensor<16x2x3xf32>) outs(%9 : tensor<16x5x6xf32>) {
^bb0(%11: f32, %12: f32, %13: f32):
  %14 = arith.mulf %11, %12 : f32
  %15 = arith.addf %13, %14 : f32
  linalg.yield %15 : f32
} -> tensor<16x5x6xf32>
...
