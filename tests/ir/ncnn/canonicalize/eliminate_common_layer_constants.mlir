// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 3 : i32, data = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">} : () -> tensor<*xf32>
    %l = ncnn.MemoryData() {layer = "l", blobs = ["l"], w = 3 : i32, data = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">} : () -> tensor<*xf32>
    %a = ncnn.BinaryOp(%data, %k) {layer = "a", blobs = ["a"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%a, %l) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %k = ncnn.MemoryData() {layer = "k", blobs = ["k"], w = 3 : i32, data = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">} : () -> tensor<3xf32>
    %a = ncnn.BinaryOp(%data, %k) {layer = "a", blobs = ["a"], op_type = 0 : i32} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
    %y = ncnn.BinaryOp(%a, %k) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
