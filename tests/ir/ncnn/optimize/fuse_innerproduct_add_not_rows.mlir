// passes: infer-shapes,optimize-ncnn
// refused: fuse_innerproduct_add y: it works along axis 0, the channels lie along axis 1
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32, h = 2 : i32} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, weight_data_size = 12 : i32, weight = #ncnn.weight<[2, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<*xf32>) -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 2 : i32, data = #ncnn.weight<[2] inline "f4" "0000803f00000040">} : () -> tensor<*xf32>
    %y = ncnn.BinaryOp(%p, %k) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32, h = 2 : i32} : () -> tensor<2x6xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, weight_data_size = 12 : i32, weight = #ncnn.weight<[2, 6] random 7 0 0.4082482904638631 0.0>} : (tensor<2x6xf32>) -> tensor<2x2xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 2 : i32, data = #ncnn.weight<[2] inline "f4" "0000803f00000040">} : () -> tensor<2xf32>
    %y = ncnn.BinaryOp(%p, %k) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    func.return %y : tensor<2x2xf32>
  }
}
