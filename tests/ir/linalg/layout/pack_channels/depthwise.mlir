// passes: convert-ncnn-to-linalg,pack-channels
// Packed from convolution to convolution, no conversion between.
builtin.module {
  func.func @network() -> tensor<16x1x1xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 7 : i32, h = 7 : i32, c = 16 : i32} : () -> tensor<16x7x7xf32>
    %b = ncnn.Convolution(%x) {layer = "a", blobs = ["b"], line = 4 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 2304 : i32, weight = #ncnn.weight<[16, 16, 3, 3] random 1 0 0.08333333333333333 0.0>} : (tensor<16x7x7xf32>) -> tensor<16x5x5xf32>
    %c = ncnn.ConvolutionDepthWise(%b) {layer = "d", blobs = ["c"], line = 5 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 144 : i32, group = 16 : i32, weight = #ncnn.weight<[16, 1, 1, 3, 3] random 1 1 0.3333333333333333 0.0>} : (tensor<16x5x5xf32>) -> tensor<16x3x3xf32>
    %y = ncnn.Convolution(%c) {layer = "e", blobs = ["y"], line = 6 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 2304 : i32, weight = #ncnn.weight<[16, 16, 3, 3] random 1 2 0.08333333333333333 0.0>} : (tensor<16x3x3xf32>) -> tensor<16x1x1xf32>
    func.return %y : tensor<16x1x1xf32>
  }
}
// -- changes --
// erased: %x, %b, %c, %y
// arguments: %x_1
%0 = ncnn.constant <[1, 16, 3, 3, 16] blocked [0] 16 of <[16, 16, 3, 3] random 1 0 0.08333333333333333 0.0>> : tensor<1x16x3x3x16xf32>
%1 = tensor.empty() : tensor<1x5x5x16xf32>
%2 = arith.constant 0.000000e+00 : f32
%3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<1x5x5x16xf32>) -> tensor<1x5x5x16xf32>
%b_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"], doc = "a"} ins(%x_1, %0 : tensor<16x7x7xf32>, tensor<1x16x3x3x16xf32>) outs(%3 : tensor<1x5x5x16xf32>) {
^bb0(%4: f32, %5: f32, %6: f32):
  %7 = arith.mulf %4, %5 : f32
  %8 = arith.addf %6, %7 : f32
  linalg.yield %8 : f32
} -> tensor<1x5x5x16xf32>
%9 = ncnn.constant <[1, 3, 3, 16] blocked [0] 16 of <[16, 3, 3] random 1 1 0.3333333333333333 0.0>> : tensor<1x3x3x16xf32>
%10 = tensor.empty() : tensor<1x3x3x16xf32>
%11 = arith.constant 0.000000e+00 : f32
%12 = linalg.fill ins(%11 : f32) outs(%10 : tensor<1x3x3x16xf32>) -> tensor<1x3x3x16xf32>
%c_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d3), (d2 + d4), d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "d"} ins(%b_1, %9 : tensor<1x5x5x16xf32>, tensor<1x3x3x16xf32>) outs(%12 : tensor<1x3x3x16xf32>) {
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %13, %14 : f32
  %17 = arith.addf %15, %16 : f32
  linalg.yield %17 : f32
} -> tensor<1x3x3x16xf32>
%18 = ncnn.constant <[1, 1, 3, 3, 16, 16] blocked [1, 0] 16 of <[16, 16, 3, 3] random 1 2 0.08333333333333333 0.0>> : tensor<1x1x3x3x16x16xf32>
%19 = tensor.empty() : tensor<1x1x1x16xf32>
%20 = arith.constant 0.000000e+00 : f32
%21 = linalg.fill ins(%20 : f32) outs(%19 : tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "e"} ins(%c_1, %18 : tensor<1x3x3x16xf32>, tensor<1x1x3x3x16x16xf32>) outs(%21 : tensor<1x1x1x16xf32>) {
^bb0(%22: f32, %23: f32, %24: f32):
  %25 = arith.mulf %22, %23 : f32
  %26 = arith.addf %24, %25 : f32
  linalg.yield %26 : f32
} -> tensor<1x1x1x16xf32>
%27 = tensor.empty() : tensor<1x16x1x1xf32>
%28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<1x1x1x16xf32>) outs(%27 : tensor<1x16x1x1xf32>) {
^bb0(%29: f32, %30: f32):
  linalg.yield %29 : f32
} -> tensor<1x16x1x1xf32>
%31 = tensor.collapse_shape %28 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x1x1xf32> into tensor<16x1x1xf32>
func.return %31 : tensor<16x1x1xf32>
