// passes: expand-layers,fuse-groups
// Bias, sum and activation are one kernel; the padding is memory, not work.
builtin.module {
  func.func @network() -> tensor<3x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 4 : i32, c = 2 : i32} : () -> tensor<2x4x4xf32>
    %c = ncnn.Convolution(%x) {layer = "conv", blobs = ["c"], line = 4 : i32, num_output = 3 : i32, kernel_w = 3 : i32, pad_left = 1 : i32, bias_term = 1 : i32, weight_data_size = 54 : i32, weight = #ncnn.weight<[3, 2, 3, 3] random 1 0 0.23570226039551587 0.0>, bias = #ncnn.weight<[3] random 1 1 0.1 0.0>} : (tensor<2x4x4xf32>) -> tensor<3x4x4xf32>
    %y = ncnn.ReLU(%c) {layer = "relu", blobs = ["y"], line = 5 : i32, slope = 0.000000e+00 : f32} : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
    func.return %y : tensor<3x4x4xf32>
  }
}
// -- becomes --
