// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_reshape_before_binaryop y: (4,) instead of (4, 1, 1) would not meet (1, 4, 4) in the same way
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 4 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<*xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 4 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 4 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%x, %a) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<4x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 4 : i32, h = 4 : i32, c = 1 : i32} : () -> tensor<1x4x4xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 4 : i32} : () -> tensor<4xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 4 : i32} : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %y = ncnn.BinaryOp(%x, %a) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<1x4x4xf32>, tensor<4x1x1xf32>) -> tensor<4x4x4xf32>
    func.return %y : tensor<4x4x4xf32>
  }
}
