// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_flatten_after_innerproduct y: the inner product makes a result of rank 2, not a vector
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 6 : i32, h = 4 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {num_output = 2 : i32, weight_data_size = 12 : i32, weight = #ncnn.weight<[2, 6] random 7 0 1.0 0.0>, layer = "p", blobs = ["p"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Flatten(%p) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<8xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32, h = 4 : i32} : () -> tensor<4x6xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, weight_data_size = 12 : i32, weight = #ncnn.weight<[2, 6] random 7 0 1.0 0.0>} : (tensor<4x6xf32>) -> tensor<4x2xf32>
    %y = ncnn.Flatten(%p) {layer = "y", blobs = ["y"]} : (tensor<4x2xf32>) -> tensor<8xf32>
    func.return %y : tensor<8xf32>
  }
}
