// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %p = ncnn.Pooling(%data) {layer = "p", blobs = ["p"], pooling_type = 1 : i32, global_pooling = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 6 : i32, pad_left = 1 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>, bias = #ncnn.weight<[2] random 7 1 0.1 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %p = ncnn.Pooling(%data) {layer = "p", blobs = ["p"], pooling_type = 1 : i32, global_pooling = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<3xf32>
    %y = ncnn.InnerProduct(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, bias_term = 1 : i32, weight_data_size = 6 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3] random 7 0 0.5773502691896258 0.0>, bias = #ncnn.weight<[2] random 7 1 0.1 0.0>} : (tensor<3xf32>) -> tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}
