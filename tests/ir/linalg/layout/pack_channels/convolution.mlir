// passes: convert-ncnn-to-linalg,pack-channels
// Channels in blocks of 16, the weights and the bias in the same blocks.
builtin.module {
  func.func @network() -> tensor<32x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 32 : i32} : () -> tensor<32x6x6xf32>
    %y = ncnn.Convolution(%x) {layer = "conv", blobs = ["y"], line = 4 : i32, num_output = 32 : i32, kernel_w = 3 : i32, bias_term = 1 : i32, weight_data_size = 9216 : i32, weight = #ncnn.weight<[32, 32, 3, 3] random 1 0 0.05892556509887897 0.0>, bias = #ncnn.weight<[32] random 1 1 0.1 0.0>} : (tensor<32x6x6xf32>) -> tensor<32x4x4xf32>
    func.return %y : tensor<32x4x4xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 1 0.1 0.0>> : tensor<2x16xf32>
%1 = tensor.empty() : tensor<2x4x4x16xf32>
%2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%0 : tensor<2x16xf32>) outs(%1 : tensor<2x4x4x16xf32>) {
^bb0(%3: f32, %4: f32):
  linalg.yield %3 : f32
} -> tensor<2x4x4x16xf32>
%5 = ncnn.constant <[2, 32, 3, 3, 16] blocked [0] 16 of <[32, 32, 3, 3] random 1 0 0.05892556509887897 0.0>> : tensor<2x32x3x3x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"], doc = "conv"} ins(%x_1, %5 : tensor<32x6x6xf32>, tensor<2x32x3x3x16xf32>) outs(%2 : tensor<2x4x4x16xf32>) {
^bb0(%6: f32, %7: f32, %8: f32):
  %9 = arith.mulf %6, %7 : f32
  %10 = arith.addf %8, %9 : f32
  linalg.yield %10 : f32
} -> tensor<2x4x4x16xf32>
%11 = tensor.empty() : tensor<2x16x4x4xf32>
%12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<2x4x4x16xf32>) outs(%11 : tensor<2x16x4x4xf32>) {
^bb0(%13: f32, %14: f32):
  linalg.yield %13 : f32
} -> tensor<2x16x4x4xf32>
%15 = tensor.collapse_shape %12 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x4x4xf32> into tensor<32x4x4xf32>
func.return %15 : tensor<32x4x4xf32>
