// passes: infer-shapes,optimize-ncnn
// refused: replace_convolution_with_innerproduct_after_innerproduct y: its input has rank 2, it is no vector
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32, h = 2 : i32} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 3 : i32, weight_data_size = 18 : i32, weight = #ncnn.weight<[3, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] random 7 1 1.0 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x2x3xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32, h = 2 : i32} : () -> tensor<2x6xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 3 : i32, weight_data_size = 18 : i32, weight = #ncnn.weight<[3, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] random 7 1 1.0 0.0>} : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
    func.return %y : tensor<2x2x3xf32>
  }
}
