// passes: infer-shapes,optimize-ncnn
// refused: replace_convolution_with_innerproduct_after_global_pooling y: its input has 3 elements, not one for each of 1 channels
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %p = ncnn.Pooling(%data) {layer = "p", blobs = ["p"], pooling_type = 1 : i32, global_pooling = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] random 7 0 1.0 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x1x3xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %p = ncnn.Pooling(%data) {layer = "p", blobs = ["p"], pooling_type = 1 : i32, global_pooling = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<3xf32>
    %y = ncnn.Convolution(%p) {layer = "y", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] random 7 0 1.0 0.0>} : (tensor<3xf32>) -> tensor<2x1x3xf32>
    func.return %y : tensor<2x1x3xf32>
  }
}
