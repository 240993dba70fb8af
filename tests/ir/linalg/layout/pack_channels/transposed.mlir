// passes: convert-ncnn-to-linalg,pack-channels
// A transposition that leads from channels side by side to a convolution: a block of them is a vector of what it reads.
builtin.module {
  func.func @network() -> tensor<32x16x16xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 32 : i32, h = 16 : i32, c = 16 : i32} : () -> tensor<16x16x32xf32>
    %t = ncnn.Permute(%x) {layer = "turn", blobs = ["t"], line = 4 : i32, order_type = 4 : i32} : (tensor<16x16x32xf32>) -> tensor<32x16x16xf32>
    %y = ncnn.Convolution(%t) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 32 : i32, kernel_w = 1 : i32, weight_data_size = 1024 : i32, weight = #ncnn.weight<[32, 32, 1, 1] random 1 0 0.25 0.0>} : (tensor<32x16x16xf32>) -> tensor<32x16x16xf32>
    func.return %y : tensor<32x16x16xf32>
  }
}
// -- changes --
// erased: %x, %t, %y
// arguments: %x_1
%0 = tensor.empty() : tensor<2x16x16x16xf32>
%t_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, ((d0 * 16) + d3))>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "turn"} ins(%x_1 : tensor<16x16x32xf32>) outs(%0 : tensor<2x16x16x16xf32>) {
^bb0(%1: f32, %2: f32):
  linalg.yield %1 : f32
} -> tensor<2x16x16x16xf32>
%3 = ncnn.constant <[2, 2, 16, 16] blocked [1, 0] 16 of <[32, 32] random 1 0 0.25 0.0>> : tensor<2x2x16x16xf32>
%4 = tensor.empty() : tensor<2x16x16x16xf32>
%5 = arith.constant 0.000000e+00 : f32
%6 = linalg.fill ins(%5 : f32) outs(%4 : tensor<2x16x16x16xf32>) -> tensor<2x16x16x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "conv"} ins(%t_1, %3 : tensor<2x16x16x16xf32>, tensor<2x2x16x16xf32>) outs(%6 : tensor<2x16x16x16xf32>) {
^bb0(%7: f32, %8: f32, %9: f32):
  %10 = arith.mulf %7, %8 : f32
  %11 = arith.addf %9, %10 : f32
  linalg.yield %11 : f32
} -> tensor<2x16x16x16xf32>
%12 = tensor.empty() : tensor<2x16x16x16xf32>
%13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<2x16x16x16xf32>) outs(%12 : tensor<2x16x16x16xf32>) {
^bb0(%14: f32, %15: f32):
  linalg.yield %14 : f32
} -> tensor<2x16x16x16xf32>
%16 = tensor.collapse_shape %13 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x16x16xf32> into tensor<32x16x16xf32>
func.return %16 : tensor<32x16x16xf32>
