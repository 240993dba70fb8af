// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "z"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 3 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%x, %a) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %z = ncnn.Sigmoid(%a) {layer = "z", blobs = ["z"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y, %z : tensor<*xf32>, tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> (tensor<3x4x5xf32>, tensor<3x1x1xf32>) attributes {outputs = ["y", "z"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 3 : i32} : () -> tensor<3xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 3 : i32} : (tensor<3xf32>) -> tensor<3x1x1xf32>
    %y = ncnn.BinaryOp(%x, %v) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<3x4x5xf32>, tensor<3xf32>) -> tensor<3x4x5xf32>
    %z = ncnn.Sigmoid(%a) {layer = "z", blobs = ["z"]} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
    func.return %y, %z : tensor<3x4x5xf32>, tensor<3x1x1xf32>
  }
}
