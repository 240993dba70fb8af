// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%data) {layer = "a", blobs = ["a"], w = 20 : i32, h = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.InnerProduct(%a) {layer = "y", blobs = ["y"], num_output = 2 : i32, weight_data_size = 120 : i32, weight = #ncnn.weight<[2, 60] random 7 0 0.12909944487358055 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.InnerProduct(%data) {layer = "y", blobs = ["y"], num_output = 2 : i32, weight_data_size = 120 : i32, weight = #ncnn.weight<[2, 60] random 7 0 0.12909944487358055 0.0>} : (tensor<3x4x5xf32>) -> tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}
