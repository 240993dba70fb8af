// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 2 : i32, data = #ncnn.weight<[2] inline "f4" "00000040000080bf">} : () -> tensor<*xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] inline "f4" "000000000000803f0000004000004040000080400000a040">, bias = #ncnn.weight<[2] inline "f4" "0000803f00000040">} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%k, %c) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Convolution(%data) {layer = "c", blobs = ["y"], num_output = 2 : i32, kernel_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] inline "f4" "000000000000004000008040000040c0000080c00000a0c0">, bias = #ncnn.weight<[2] inline "f4" "00000040000000c0">} : (tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
