// passes: convert-ncnn-to-linalg,pack-channels
// Three channels fill no block: the image is read as it is, the result is packed.
builtin.module {
  func.func @network() -> tensor<16x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 3 : i32} : () -> tensor<3x6x6xf32>
    %y = ncnn.Convolution(%x) {layer = "conv", blobs = ["y"], line = 4 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 432 : i32, weight = #ncnn.weight<[16, 3, 3, 3] random 1 0 0.19245008972987526 0.0>} : (tensor<3x6x6xf32>) -> tensor<16x4x4xf32>
    func.return %y : tensor<16x4x4xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = ncnn.constant <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 1 0 0.19245008972987526 0.0>> : tensor<1x3x3x3x16xf32>
%1 = tensor.empty() : tensor<1x4x4x16xf32>
%2 = arith.constant 0.000000e+00 : f32
%3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"], doc = "conv"} ins(%x_1, %0 : tensor<3x6x6xf32>, tensor<1x3x3x3x16xf32>) outs(%3 : tensor<1x4x4x16xf32>) {
^bb0(%4: f32, %5: f32, %6: f32):
  %7 = arith.mulf %4, %5 : f32
  %8 = arith.addf %6, %7 : f32
  linalg.yield %8 : f32
} -> tensor<1x4x4x16xf32>
%9 = tensor.empty() : tensor<1x16x4x4xf32>
%10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<1x4x4x16xf32>) outs(%9 : tensor<1x16x4x4xf32>) {
^bb0(%11: f32, %12: f32):
  linalg.yield %11 : f32
} -> tensor<1x16x4x4xf32>
%13 = tensor.collapse_shape %10 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x4x4xf32> into tensor<16x4x4xf32>
func.return %13 : tensor<16x4x4xf32>
