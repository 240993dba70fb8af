// passes: infer-shapes,optimize-ncnn
// refused: fuse_memorydata_binaryop y: the constant may have a higher rank than what it is combined with
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 1 : i32, h = 1 : i32, data = #ncnn.weight<[1, 1] inline "f4" "00000040">} : () -> tensor<*xf32>
    %y = ncnn.BinaryOp(%k, %data) {layer = "y", blobs = ["y"], op_type = 6 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<1x6xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 1 : i32, h = 1 : i32, data = #ncnn.weight<[1, 1] inline "f4" "00000040">} : () -> tensor<1x1xf32>
    %y = ncnn.BinaryOp(%k, %data) {layer = "y", blobs = ["y"], op_type = 6 : i32} : (tensor<1x1xf32>, tensor<6xf32>) -> tensor<1x6xf32>
    func.return %y : tensor<1x6xf32>
  }
}
