// passes: infer-shapes,optimize-ncnn
// refused: fuse_innerproduct_dropout y: activation 4 stands between
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, weight_data_size = 12 : i32, activation_type = 4 : i32, weight = #ncnn.weight<[2, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Dropout(%p) {layer = "y", blobs = ["y"], scale = 5.000000e-01 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, weight_data_size = 12 : i32, activation_type = 4 : i32, weight = #ncnn.weight<[2, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<6xf32>) -> tensor<2xf32>
    %y = ncnn.Dropout(%p) {layer = "y", blobs = ["y"], scale = 5.000000e-01 : f32} : (tensor<2xf32>) -> tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}
