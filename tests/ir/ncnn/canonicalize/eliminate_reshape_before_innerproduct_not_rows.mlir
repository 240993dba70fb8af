// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_reshape_before_innerproduct y: the rows of 3x20 are multiplied each by itself
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%data) {layer = "a", blobs = ["a"], w = 20 : i32, h = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.InnerProduct(%a) {layer = "y", blobs = ["y"], num_output = 2 : i32, weight_data_size = 40 : i32, weight = #ncnn.weight<[2, 20] random 7 0 0.22360679774997896 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %a = ncnn.Reshape(%data) {layer = "a", blobs = ["a"], w = 20 : i32, h = 3 : i32} : (tensor<3x4x5xf32>) -> tensor<3x20xf32>
    %y = ncnn.InnerProduct(%a) {layer = "y", blobs = ["y"], num_output = 2 : i32, weight_data_size = 40 : i32, weight = #ncnn.weight<[2, 20] random 7 0 0.22360679774997896 0.0>} : (tensor<3x20xf32>) -> tensor<3x2xf32>
    func.return %y : tensor<3x2xf32>
  }
}
