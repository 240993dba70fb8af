// passes: infer-shapes,optimize-ncnn
// refused: replace_prelu_with_leaky_relu y: its 3 slopes are not equal
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.PReLU(%data) {layer = "y", blobs = ["y"], num_slope = 3 : i32, slope = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.PReLU(%data) {layer = "y", blobs = ["y"], num_slope = 3 : i32, slope = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
