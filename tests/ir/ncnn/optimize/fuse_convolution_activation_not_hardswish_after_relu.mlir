// passes: infer-shapes,optimize-ncnn
// refused: fuse_convolution_activation y: c has activation 1 already
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.HardSwish(%c) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
    %y = ncnn.HardSwish(%c) {layer = "y", blobs = ["y"]} : (tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
