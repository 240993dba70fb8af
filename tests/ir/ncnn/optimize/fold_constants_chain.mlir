// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 3 : i32, data = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">} : () -> tensor<*xf32>
    %a = ncnn.BinaryOp(%k) {layer = "a", blobs = ["a"], op_type = 2 : i32, with_scalar = 1 : i32, b = 2.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%data, %a) {layer = "y", blobs = ["y"], op_type = 4 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %a = ncnn.MemoryData() {layer = "a", blobs = ["a"], w = 3 : i32, data = #ncnn.weight<[3] inline "f4" "00000040000080400000c040">} : () -> tensor<3xf32>
    %y = ncnn.BinaryOp(%data, %a) {layer = "y", blobs = ["y"], op_type = 4 : i32} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
