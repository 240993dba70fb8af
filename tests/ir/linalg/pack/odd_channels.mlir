// passes: expand-layers,pack-channels
// 20 channels are two blocks; the sum over them stops at its true extent (tails).
builtin.module {
  func.func @network() -> tensor<16x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 32 : i32} : () -> tensor<32x6x6xf32>
    %b = ncnn.Convolution(%x) {layer = "a", blobs = ["b"], line = 4 : i32, num_output = 20 : i32, kernel_w = 3 : i32, weight_data_size = 5760 : i32, weight = #ncnn.weight<[20, 32, 3, 3] random 1 0 0.05892556509887897 0.0>} : (tensor<32x6x6xf32>) -> tensor<20x4x4xf32>
    %y = ncnn.Convolution(%b) {layer = "c", blobs = ["y"], line = 5 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 2880 : i32, weight = #ncnn.weight<[16, 20, 3, 3] random 1 1 0.07453559924999299 0.0>} : (tensor<20x4x4xf32>) -> tensor<16x2x2xf32>
    func.return %y : tensor<16x2x2xf32>
  }
}
// -- becomes --
