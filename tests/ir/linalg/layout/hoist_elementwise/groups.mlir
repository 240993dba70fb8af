// passes: convert-ncnn-to-linalg,hoist-elementwise
// The activation reads the convolution itself, and becomes its epilogue.
builtin.module {
  func.func @network() -> tensor<4x3x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 3 : i32, h = 3 : i32, c = 4 : i32} : () -> tensor<4x3x3xf32>
    %c = ncnn.ConvolutionDepthWise(%x) {layer = "conv", blobs = ["c"], line = 4 : i32, num_output = 4 : i32, kernel_w = 1 : i32, group = 2 : i32, weight_data_size = 8 : i32, weight = #ncnn.weight<[2, 2, 2, 1, 1] random 1 0 0.5 0.0>} : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
    %y = ncnn.AbsVal(%c) {layer = "abs", blobs = ["y"], line = 5 : i32} : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
    func.return %y : tensor<4x3x3xf32>
  }
}
// -- changes --
// erased: %x, %c, %y
// arguments: %x_1
%0 = ncnn.constant <[2, 2, 2, 1, 1] random 1 0 0.5 0.0> : tensor<2x2x2x1x1xf32>
%1 = tensor.collapse_shape %0 [[0 : i64], [1 : i64], [2 : i64, 3 : i64, 4 : i64]] : tensor<2x2x2x1x1xf32> into tensor<2x2x2xf32>
%2 = tensor.empty() : tensor<2x2x3x3xf32>
%3 = arith.constant 0.000000e+00 : f32
%4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
%5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 2) + d4), d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%x_1, %1 : tensor<4x3x3xf32>, tensor<2x2x2xf32>) outs(%4 : tensor<2x2x3x3xf32>) {
^bb0(%6: f32, %7: f32, %8: f32):
  %9 = arith.mulf %6, %7 : f32
  %10 = arith.addf %8, %9 : f32
  linalg.yield %10 : f32
} -> tensor<2x2x3x3xf32>
%11 = tensor.empty() : tensor<2x2x3x3xf32>
%12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "abs"} ins(%5 : tensor<2x2x3x3xf32>) outs(%11 : tensor<2x2x3x3xf32>) {
^bb0(%13: f32, %14: f32):
  %15 = math.absf %13 : f32
  linalg.yield %15 : f32
} -> tensor<2x2x3x3xf32>
%y_1 = tensor.collapse_shape %12 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x2x3x3xf32> into tensor<4x3x3xf32>
func.return %y_1 : tensor<4x3x3xf32>
