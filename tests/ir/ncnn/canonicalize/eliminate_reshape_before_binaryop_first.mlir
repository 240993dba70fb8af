// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, d = 2 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%a, %x) {layer = "y", blobs = ["y"], op_type = 1 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x2x4x5xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, d = 2 : i32, c = 3 : i32} : () -> tensor<3x2x4x5xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 3 : i32} : () -> tensor<3xf32>
    %y = ncnn.BinaryOp(%v, %x) {layer = "y", blobs = ["y"], op_type = 1 : i32} : (tensor<3xf32>, tensor<3x2x4x5xf32>) -> tensor<3x2x4x5xf32>
    func.return %y : tensor<3x2x4x5xf32>
  }
}
