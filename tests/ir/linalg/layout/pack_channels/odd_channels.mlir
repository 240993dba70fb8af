// passes: convert-ncnn-to-linalg,pack-channels
// 24 channels are two blocks; the sum over them stops at its true extent (tails).
builtin.module {
  func.func @network() -> tensor<16x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 32 : i32} : () -> tensor<32x6x6xf32>
    %b = ncnn.Convolution(%x) {layer = "a", blobs = ["b"], line = 4 : i32, num_output = 24 : i32, kernel_w = 3 : i32, weight_data_size = 6912 : i32, weight = #ncnn.weight<[24, 32, 3, 3] random 1 0 0.05892556509887897 0.0>} : (tensor<32x6x6xf32>) -> tensor<24x4x4xf32>
    %y = ncnn.Convolution(%b) {layer = "c", blobs = ["y"], line = 5 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 3456 : i32, weight = #ncnn.weight<[16, 24, 3, 3] random 1 1 0.06804138174397717 0.0>} : (tensor<24x4x4xf32>) -> tensor<16x2x2xf32>
    func.return %y : tensor<16x2x2xf32>
  }
}
// -- changes --
// erased: %x, %b, %y
// arguments: %x_1
%0 = ncnn.constant <[2, 32, 3, 3, 16] blocked [0] 16 of <[24, 32, 3, 3] random 1 0 0.05892556509887897 0.0>> : tensor<2x32x3x3x16xf32>
%1 = tensor.empty() : tensor<2x4x4x16xf32>
%2 = arith.constant 0.000000e+00 : f32
%3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<2x4x4x16xf32>) -> tensor<2x4x4x16xf32>
%b_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"], doc = "a"} ins(%x_1, %0 : tensor<32x6x6xf32>, tensor<2x32x3x3x16xf32>) outs(%3 : tensor<2x4x4x16xf32>) {
^bb0(%4: f32, %5: f32, %6: f32):
  %7 = arith.mulf %4, %5 : f32
  %8 = arith.addf %6, %7 : f32
  linalg.yield %8 : f32
} -> tensor<2x4x4x16xf32>
%9 = ncnn.constant <[1, 2, 3, 3, 16, 16] blocked [1, 0] 16 of <[16, 24, 3, 3] random 1 1 0.06804138174397717 0.0>> : tensor<1x2x3x3x16x16xf32>
%10 = tensor.empty() : tensor<1x2x2x16xf32>
%11 = arith.constant 0.000000e+00 : f32
%12 = linalg.fill ins(%11 : f32) outs(%10 : tensor<1x2x2x16xf32>) -> tensor<1x2x2x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "c"} ins(%b_1, %9 : tensor<2x4x4x16xf32>, tensor<1x2x3x3x16x16xf32>) outs(%12 : tensor<1x2x2x16xf32>) attrs =  {valid_extents = [[3 : i64, 7 : i64, 24 : i64]]} {
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %13, %14 : f32
  %17 = arith.addf %15, %16 : f32
  linalg.yield %17 : f32
} -> tensor<1x2x2x16xf32>
%18 = tensor.empty() : tensor<1x16x2x2xf32>
%19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<1x2x2x16xf32>) outs(%18 : tensor<1x16x2x2xf32>) {
^bb0(%20: f32, %21: f32):
  linalg.yield %20 : f32
} -> tensor<1x16x2x2xf32>
%22 = tensor.collapse_shape %19 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x2x2xf32> into tensor<16x2x2xf32>
func.return %22 : tensor<16x2x2xf32>
