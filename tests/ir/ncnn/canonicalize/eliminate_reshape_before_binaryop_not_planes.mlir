// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_reshape_before_binaryop y: (2, 2, 2) instead of (8, 1, 1) would not meet (8, 2, 2) in the same way
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 2 : i32, h = 2 : i32, c = 8 : i32} : () -> tensor<*xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 2 : i32, h = 2 : i32, c = 2 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 8 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%x, %a) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<8x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], w = 2 : i32, h = 2 : i32, c = 8 : i32} : () -> tensor<8x2x2xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], w = 2 : i32, h = 2 : i32, c = 2 : i32} : () -> tensor<2x2x2xf32>
    %a = ncnn.Reshape(%v) {layer = "a", blobs = ["a"], w = 1 : i32, h = 1 : i32, c = 8 : i32} : (tensor<2x2x2xf32>) -> tensor<8x1x1xf32>
    %y = ncnn.BinaryOp(%x, %a) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<8x2x2xf32>, tensor<8x1x1xf32>) -> tensor<8x2x2xf32>
    func.return %y : tensor<8x2x2xf32>
  }
}
