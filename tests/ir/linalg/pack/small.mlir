// passes: expand-layers,pack-channels
// Where conversions cost more than vectors bring, all stays plain.
builtin.module {
  func.func @network() -> tensor<16x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 2 : i32, h = 2 : i32, c = 16 : i32} : () -> tensor<16x2x2xf32>
    %y = ncnn.Convolution(%x) {layer = "conv", blobs = ["y"], line = 4 : i32, num_output = 16 : i32, kernel_w = 1 : i32, weight_data_size = 256 : i32, weight = #ncnn.weight<[16, 16, 1, 1] random 1 0 0.25 0.0>} : (tensor<16x2x2xf32>) -> tensor<16x2x2xf32>
    func.return %y : tensor<16x2x2xf32>
  }
}
// -- becomes --
