// passes: convert-ncnn-to-linalg,pack-channels,split-bf16
// Not: of 33 channels half would be zeros, and weights are read for few points.
builtin.module {
  func.func @network() -> tensor<40x3x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 3 : i32, h = 3 : i32, c = 33 : i32} : () -> tensor<33x3x3xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 33 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 1089 : i32, weight = #ncnn.weight<[33, 33, 1, 1] random 1 0 0.1 0.0>} : (tensor<33x3x3xf32>) -> tensor<33x3x3xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 40 : i32, kernel_w = 1 : i32, stride_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 1320 : i32, weight = #ncnn.weight<[40, 33, 1, 1] random 1 1 0.05 0.0>} : (tensor<33x3x3xf32>) -> tensor<40x3x3xf32>
    func.return %y : tensor<40x3x3xf32>
  }
}
// -- changes --
// erased: %x, %r, %y
// arguments: %x_1
%0 = ncnn.constant <[3, 33, 16] blocked [0] 16 of <[33, 33] random 1 0 0.1 0.0>> : tensor<3x33x16xf32>
%1 = tensor.empty() : tensor<3x3x3x16xf32>
%2 = arith.constant 0.000000e+00 : f32
%3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<3x3x3x16xf32>) -> tensor<3x3x3x16xf32>
%r_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"], doc = "first"} ins(%x_1, %0 : tensor<33x3x3xf32>, tensor<3x33x16xf32>) outs(%3 : tensor<3x3x3x16xf32>) {
^bb0(%4: f32, %5: f32, %6: f32):
  %7 = arith.mulf %4, %5 : f32
  %8 = arith.addf %6, %7 : f32
  linalg.yield %8 : f32
} -> tensor<3x3x3x16xf32>
%9 = ncnn.constant <[3, 3, 16, 16] blocked [1, 0] 16 of <[40, 33] random 1 1 0.05 0.0>> : tensor<3x3x16x16xf32>
%10 = tensor.empty() : tensor<3x3x3x16xf32>
%11 = arith.constant 0.000000e+00 : f32
%12 = linalg.fill ins(%11 : f32) outs(%10 : tensor<3x3x3x16xf32>) -> tensor<3x3x3x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "conv"} ins(%r_1, %9 : tensor<3x3x3x16xf32>, tensor<3x3x16x16xf32>) outs(%12 : tensor<3x3x3x16xf32>) attrs =  {valid_extents = [[3 : i64, 5 : i64, 33 : i64]]} {
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %13, %14 : f32
  %17 = arith.addf %15, %16 : f32
  linalg.yield %17 : f32
} -> tensor<3x3x3x16xf32>
%18 = tensor.extract_slice %y_1[0, 0, 0, 0] [2, 3, 3, 16] [1, 1, 1, 1] : tensor<3x3x3x16xf32> to tensor<2x3x3x16xf32>
%19 = tensor.empty() : tensor<2x16x3x3xf32>
%20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%18 : tensor<2x3x3x16xf32>) outs(%19 : tensor<2x16x3x3xf32>) {
^bb0(%21: f32, %22: f32):
  linalg.yield %21 : f32
} -> tensor<2x16x3x3xf32>
%23 = tensor.collapse_shape %20 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x3x3xf32> into tensor<32x3x3xf32>
%24 = tensor.extract_slice %y_1[2, 0, 0, 0] [1, 3, 3, 8] [1, 1, 1, 1] : tensor<3x3x3x16xf32> to tensor<1x3x3x8xf32>
%25 = tensor.empty() : tensor<1x8x3x3xf32>
%26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%24 : tensor<1x3x3x8xf32>) outs(%25 : tensor<1x8x3x3xf32>) {
^bb0(%27: f32, %28: f32):
  linalg.yield %27 : f32
} -> tensor<1x8x3x3xf32>
%29 = tensor.collapse_shape %26 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x8x3x3xf32> into tensor<8x3x3xf32>
%30 = tensor.concat dim(0) %23, %29 : (tensor<32x3x3xf32>, tensor<8x3x3xf32>) -> tensor<40x3x3xf32>
func.return %30 : tensor<40x3x3xf32>
