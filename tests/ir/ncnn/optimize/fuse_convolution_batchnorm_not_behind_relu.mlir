// passes: infer-shapes,optimize-ncnn
// refused: fuse_convolution_batchnorm y: a ReLU stands between, and it does not only scale by positive factors
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BatchNorm(%c) {layer = "y", blobs = ["y"], channels = 2 : i32, slope = #ncnn.weight<[2] inline "f4" "0000803f00000040">, mean = #ncnn.weight<[2] inline "f4" "000000000000803f">, var = #ncnn.weight<[2] inline "f4" "000080400000803f">, bias = #ncnn.weight<[2] inline "f4" "0000003f000000bf">} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 0 0.5773502691896258 0.0>} : (tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
    %y = ncnn.BatchNorm(%c) {layer = "y", blobs = ["y"], channels = 2 : i32, slope = #ncnn.weight<[2] inline "f4" "0000803f00000040">, mean = #ncnn.weight<[2] inline "f4" "000000000000803f">, var = #ncnn.weight<[2] inline "f4" "000080400000803f">, bias = #ncnn.weight<[2] inline "f4" "0000003f000000bf">} : (tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
