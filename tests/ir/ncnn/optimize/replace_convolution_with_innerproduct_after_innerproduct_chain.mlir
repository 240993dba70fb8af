// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 3 : i32, weight_data_size = 18 : i32, weight = #ncnn.weight<[3, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %q = ncnn.Convolution(%p) {layer = "q", blobs = ["q"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 1 0.5773502691896258 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Convolution(%q) {layer = "y", blobs = ["y"], num_output = 4 : i32, kernel_w = 1 : i32, weight_data_size = 8 : i32, weight = #ncnn.weight<[4, 2, 1, 1] random 7 2 0.7071067811865475 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 3 : i32, weight_data_size = 18 : i32, weight = #ncnn.weight<[3, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<6xf32>) -> tensor<3xf32>
    %q = ncnn.InnerProduct(%p) {layer = "q", blobs = ["q"], num_output = 2 : i32, bias_term = 0 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3] random 7 1 0.5773502691896258 0.0>} : (tensor<3xf32>) -> tensor<2xf32>
    %y = ncnn.InnerProduct(%q) {layer = "y", blobs = ["y"], num_output = 4 : i32, bias_term = 0 : i32, weight_data_size = 8 : i32, weight = #ncnn.weight<[4, 2] random 7 2 0.7071067811865475 0.0>} : (tensor<2xf32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
