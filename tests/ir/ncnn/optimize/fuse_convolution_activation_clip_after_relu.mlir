// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Clip(%c) {layer = "y", blobs = ["y"], min = -1.000000e+00 : f32, max = 6.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Convolution(%data) {layer = "c", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, activation_type = 3 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>, activation_params = array<f32: 0.000000e+00, 6.000000e+00>} : (tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
