// passes: convert-ncnn-to-linalg,form-fusion-groups
// Bias, sum and activation are one kernel; the padding is memory, not work.
builtin.module {
  func.func @network() -> tensor<3x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 4 : i32, c = 2 : i32} : () -> tensor<2x4x4xf32>
    %c = ncnn.Convolution(%x) {layer = "conv", blobs = ["c"], line = 4 : i32, num_output = 3 : i32, kernel_w = 3 : i32, pad_left = 1 : i32, bias_term = 1 : i32, weight_data_size = 54 : i32, weight = #ncnn.weight<[3, 2, 3, 3] random 1 0 0.23570226039551587 0.0>, bias = #ncnn.weight<[3] random 1 1 0.1 0.0>} : (tensor<2x4x4xf32>) -> tensor<3x4x4xf32>
    %y = ncnn.ReLU(%c) {layer = "relu", blobs = ["y"], line = 5 : i32, slope = 0.000000e+00 : f32} : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
    func.return %y : tensor<3x4x4xf32>
  }
}
// -- changes --
// erased: %x, %c, %y
// arguments: %x_1
%0 = tensor.pad %x_1 low[0, 1, 1] high[0, 1, 1] {
^bb0(%1: index, %2: index, %3: index):
  %4 = arith.constant 0.000000e+00 : f32
  tensor.yield %4 : f32
} : tensor<2x4x4xf32> to tensor<2x6x6xf32>
%5 = ncnn.constant <[3] random 1 1 0.1 0.0> : tensor<3xf32>
%6 = ncnn.constant <[3, 2, 3, 3] random 1 0 0.23570226039551587 0.0> : tensor<3x2x3x3xf32>
%y_1 = func.call @k0(%5, %0, %6) {layers = ["conv", "relu"]} : (tensor<3xf32>, tensor<2x6x6xf32>, tensor<3x2x3x3xf32>) -> tensor<3x4x4xf32>
func.return %y_1 : tensor<3x4x4xf32>
func.func private @k0(%7: tensor<3xf32>, %8: tensor<2x6x6xf32>, %9: tensor<3x2x3x3xf32>) -> tensor<3x4x4xf32> {
  %10 = tensor.empty() : tensor<3x4x4xf32>
  %11 = tensor.empty() : tensor<3x4x4xf32>
  %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "conv"} ins(%7 : tensor<3xf32>) outs(%10 : tensor<3x4x4xf32>) {
  ^bb0(%13: f32, %14: f32):
    linalg.yield %13 : f32
  } -> tensor<3x4x4xf32>
  %c_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "conv"} ins(%8, %9 : tensor<2x6x6xf32>, tensor<3x2x3x3xf32>) outs(%12 : tensor<3x4x4xf32>) {
  ^bb0(%15: f32, %16: f32, %17: f32):
    %18 = arith.mulf %15, %16 : f32
    %19 = arith.addf %17, %18 : f32
    linalg.yield %19 : f32
  } -> tensor<3x4x4xf32>
  %y_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "relu"} ins(%c_1 : tensor<3x4x4xf32>) outs(%11 : tensor<3x4x4xf32>) {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 0.000000e+00 : f32
    %23 = arith.cmpf olt, %20, %22 : f32
    %24 = arith.constant 0.000000e+00 : f32
    %25 = arith.select %23, %24, %20 : f32
    linalg.yield %25 : f32
  } -> tensor<3x4x4xf32>
  func.return %y_2 : tensor<3x4x4xf32>
}
