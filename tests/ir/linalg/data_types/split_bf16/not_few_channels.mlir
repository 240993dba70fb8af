// passes: convert-ncnn-to-linalg,pack-channels,split-bf16
// Not: half of a tile would be zeros.
builtin.module {
  func.func @network() -> tensor<32x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 16 : i32} : () -> tensor<16x6x6xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 16 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 256 : i32, weight = #ncnn.weight<[16, 16, 1, 1] random 1 0 0.1 0.0>} : (tensor<16x6x6xf32>) -> tensor<16x6x6xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 32 : i32, kernel_w = 3 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 4608 : i32, weight = #ncnn.weight<[32, 16, 3, 3] random 1 1 0.05 0.0>, bias = #ncnn.weight<[32] random 1 2 0.1 0.0>} : (tensor<16x6x6xf32>) -> tensor<32x4x4xf32>
    func.return %y : tensor<32x4x4xf32>
  }
}
// -- changes --
// erased: %x, %r, %y
// arguments: %x_1
%0 = ncnn.constant <[1, 16, 16] blocked [0] 16 of <[16, 16] random 1 0 0.1 0.0>> : tensor<1x16x16xf32>
%1 = tensor.empty() : tensor<1x6x6x16xf32>
%2 = arith.constant 0.000000e+00 : f32
%3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xf32>
%r_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel"], doc = "first"} ins(%x_1, %0 : tensor<16x6x6xf32>, tensor<1x16x16xf32>) outs(%3 : tensor<1x6x6x16xf32>) {
^bb0(%4: f32, %5: f32, %6: f32):
  %7 = arith.mulf %4, %5 : f32
  %8 = arith.addf %6, %7 : f32
  linalg.yield %8 : f32
} -> tensor<1x6x6x16xf32>
%9 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
%10 = tensor.empty() : tensor<2x4x4x16xf32>
%11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%9 : tensor<2x16xf32>) outs(%10 : tensor<2x4x4x16xf32>) {
^bb0(%12: f32, %13: f32):
  linalg.yield %12 : f32
} -> tensor<2x4x4x16xf32>
%14 = ncnn.constant <[2, 1, 3, 3, 16, 16] blocked [1, 0] 16 of <[32, 16, 3, 3] random 1 1 0.05 0.0>> : tensor<2x1x3x3x16x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%r_1, %14 : tensor<1x6x6x16xf32>, tensor<2x1x3x3x16x16xf32>) outs(%11 : tensor<2x4x4x16xf32>) {
^bb0(%15: f32, %16: f32, %17: f32):
  %18 = arith.mulf %15, %16 : f32
  %19 = arith.addf %17, %18 : f32
  linalg.yield %19 : f32
} -> tensor<2x4x4x16xf32>
%20 = tensor.empty() : tensor<2x16x4x4xf32>
%21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<2x4x4x16xf32>) outs(%20 : tensor<2x16x4x4xf32>) {
^bb0(%22: f32, %23: f32):
  linalg.yield %22 : f32
} -> tensor<2x16x4x4xf32>
%24 = tensor.collapse_shape %21 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x4x4xf32> into tensor<32x4x4xf32>
func.return %24 : tensor<32x4x4xf32>
