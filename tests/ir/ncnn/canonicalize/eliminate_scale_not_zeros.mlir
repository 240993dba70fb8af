// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_scale y: its biases are not all 0
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.Scale(%data) {layer = "y", blobs = ["y"], scale_data_size = 3 : i32, bias_term = 1 : i32, scale = #ncnn.weight<[3] inline "f4" "0000803f0000803f0000803f">, bias = #ncnn.weight<[3] inline "f4" "00000000000000000000803f">} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.Scale(%data) {layer = "y", blobs = ["y"], scale_data_size = 3 : i32, bias_term = 1 : i32, scale = #ncnn.weight<[3] inline "f4" "0000803f0000803f0000803f">, bias = #ncnn.weight<[3] inline "f4" "00000000000000000000803f">} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
