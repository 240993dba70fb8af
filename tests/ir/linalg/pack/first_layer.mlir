// passes: expand-layers,pack-channels
// Three channels fill no block: the image is read as it is, the result is packed.
builtin.module {
  func.func @network() -> tensor<16x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 3 : i32} : () -> tensor<3x6x6xf32>
    %y = ncnn.Convolution(%x) {layer = "conv", blobs = ["y"], line = 4 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 432 : i32, weight = #ncnn.weight<[16, 3, 3, 3] random 1 0 0.19245008972987526 0.0>} : (tensor<3x6x6xf32>) -> tensor<16x4x4xf32>
    func.return %y : tensor<16x4x4xf32>
  }
}
// -- becomes --
