// passes: expand-layers,pack-channels
// Channels in blocks of 16, the weights and the bias in the same blocks.
builtin.module {
  func.func @network() -> tensor<32x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 32 : i32} : () -> tensor<32x6x6xf32>
    %y = ncnn.Convolution(%x) {layer = "conv", blobs = ["y"], line = 4 : i32, num_output = 32 : i32, kernel_w = 3 : i32, bias_term = 1 : i32, weight_data_size = 9216 : i32, weight = #ncnn.weight<[32, 32, 3, 3] random 1 0 0.05892556509887897 0.0>, bias = #ncnn.weight<[32] random 1 1 0.1 0.0>} : (tensor<32x6x6xf32>) -> tensor<32x4x4xf32>
    func.return %y : tensor<32x4x4xf32>
  }
}
// -- becomes --
