// passes: expand-layers,pack-channels
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
// -- becomes --
