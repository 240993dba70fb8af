// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {num_output = 2 : i32, weight_data_size = 120 : i32, weight = #ncnn.weight<[2, 60] random 7 0 1.0 0.0>, layer = "p", blobs = ["p"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Flatten(%p) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, weight_data_size = 120 : i32, weight = #ncnn.weight<[2, 60] random 7 0 1.0 0.0>} : (tensor<3x4x5xf32>) -> tensor<2xf32>
    func.return %p : tensor<2xf32>
  }
}
