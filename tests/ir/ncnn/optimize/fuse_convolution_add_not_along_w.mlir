// passes: infer-shapes,optimize-ncnn
// refused: fuse_convolution_add y: it works along axis 2, the channels lie along axis 0
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 5 : i32, data = #ncnn.weight<[5] inline "f4" "0000803f0000004000004040000080400000a040">} : () -> tensor<*xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 1 0.5773502691896258 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%c, %k) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 5 : i32, data = #ncnn.weight<[5] inline "f4" "0000803f0000004000004040000080400000a040">} : () -> tensor<5xf32>
    %c = ncnn.Convolution(%data) {layer = "c", blobs = ["c"], num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 6 : i32, weight = #ncnn.weight<[2, 3, 1, 1] random 7 1 0.5773502691896258 0.0>} : (tensor<3x4x5xf32>) -> tensor<2x4x5xf32>
    %y = ncnn.BinaryOp(%c, %k) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<2x4x5xf32>, tensor<5xf32>) -> tensor<2x4x5xf32>
    func.return %y : tensor<2x4x5xf32>
  }
}
