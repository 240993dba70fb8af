// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<*xf32>
    %a = ncnn.Convolution(%x) {layer = "a", blobs = ["a"], num_output = 2 : i32, kernel_w = 3 : i32, kernel_h = 1 : i32, pad_left = 1 : i32, pad_top = 0 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 1, 1, 3] inline "f4" "0000803f000000400000404000008040000000c0000080bf">} : (tensor<*xf32>) -> tensor<*xf32>
    %b = ncnn.Convolution(%x) {layer = "b", blobs = ["b"], num_output = 2 : i32, kernel_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] inline "f4" "0000803f00000040">, bias = #ncnn.weight<[2] inline "f4" "0000003f000000bf">} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%a, %b) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<1x4x5xf32>
    %y = ncnn.Convolution(%x) {layer = "a", blobs = ["y"], num_output = 2 : i32, kernel_w = 3 : i32, kernel_h = 1 : i32, pad_left = 1 : i32, pad_top = 0 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 1, 1, 3] inline "f4" "0000803f00004040000040400000804000000000000080bf">, bias_term = 1 : i32, bias = #ncnn.weight<[2] inline "f4" "0000003f000000bf">} : (tensor<1x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
