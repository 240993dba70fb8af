// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] inline "f4" "000000000000803f0000004000004040000080400000a040">, bias = #ncnn.weight<[2] inline "f4" "0000803f00000040">} : (tensor<*xf32>) -> tensor<*xf32>
    %b = ncnn.BatchNorm(%c) {layer = "b", blobs = ["b"], channels = 2 : i32, slope = #ncnn.weight<[2] inline "f4" "0000803f00000040">, mean = #ncnn.weight<[2] inline "f4" "000000000000803f">, var = #ncnn.weight<[2] inline "f4" "000080400000803f">, bias = #ncnn.weight<[2] inline "f4" "0000003f000000bf">} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.ReLU(%b) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Convolution(%data) {layer = "c", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] inline "f4" "000000000000003f0000803f0000c0400000004100002041">, bias = #ncnn.weight<[2] inline "f4" "0000803f0000c03f">, activation_type = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
