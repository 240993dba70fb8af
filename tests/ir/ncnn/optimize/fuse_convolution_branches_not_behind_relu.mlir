// passes: infer-shapes,optimize-ncnn
// refused: fuse_convolution_branches y: activation 1 stands between
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<*xf32>
    %a = ncnn.Convolution(%x) {layer = "a", blobs = ["a"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 1, 1, 1] inline "f4" "0000803f00000040">} : (tensor<*xf32>) -> tensor<*xf32>
    %b = ncnn.Convolution(%x) {layer = "b", blobs = ["b"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] inline "f4" "0000803f00000040">} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%a, %b) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<1x4x5xf32>
    %a = ncnn.Convolution(%x) {layer = "a", blobs = ["a"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, activation_type = 1 : i32, weight = #ncnn.weight<[2, 1, 1, 1] inline "f4" "0000803f00000040">} : (tensor<1x4x5xf32>) -> tensor<2x4x5xf32>
    %b = ncnn.Convolution(%x) {layer = "b", blobs = ["b"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 2 : i32, weight = #ncnn.weight<[2, 1, 1, 1] inline "f4" "0000803f00000040">} : (tensor<1x4x5xf32>) -> tensor<2x4x5xf32>
    %y = ncnn.BinaryOp(%a, %b) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<2x4x5xf32>, tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
