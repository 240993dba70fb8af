// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 1 : i32, data = #ncnn.weight<[1] inline "f4" "00000040">} : () -> tensor<*xf32>
    %y = ncnn.BinaryOp(%k, %data) {layer = "y", blobs = ["y"], op_type = 6 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.BinaryOp(%data) {layer = "y", blobs = ["y"], op_type = 9 : i32, with_scalar = 1 : i32, b = 2.000000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    func.return %y : tensor<3x4x5xf32>
  }
}
