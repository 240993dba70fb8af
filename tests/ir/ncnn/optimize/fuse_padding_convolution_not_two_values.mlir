// passes: infer-shapes,optimize-ncnn
// refused: fuse_padding_convolution y: y pads with 0, not 1.5
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %p = ncnn.Padding(%data) {layer = "p", blobs = ["p"], top = 1 : i32, value = 1.500000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, pad_left = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x7x7xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %p = ncnn.Padding(%data) {layer = "p", blobs = ["p"], top = 1 : i32, value = 1.500000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x5x5xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, pad_left = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<3x5x5xf32>) -> tensor<2x7x7xf32>
    func.return %y : tensor<2x7x7xf32>
  }
}
