// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %q = ncnn.Input() {layer = "q", blobs = ["q"], w = 4 : i32, h = 272 : i32, c = 4 : i32} : () -> tensor<*xf32>
    %m = ncnn.Input() {layer = "m", blobs = ["m"], w = 272 : i32, h = 272 : i32, c = 1 : i32} : () -> tensor<*xf32>
    %a = ncnn.MatMul(%q, %q) {layer = "a", blobs = ["a"], transB = 1 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %s = ncnn.BinaryOp(%a) {layer = "s", blobs = ["s"], op_type = 2 : i32, with_scalar = 1 : i32, b = 5.000000e-01 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %t = ncnn.BinaryOp(%s, %m) {layer = "t", blobs = ["t"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %w = ncnn.Softmax(%t) {layer = "w", blobs = ["w"], axis = 2 : i32, fixbug0 = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.MatMul(%w, %q) {layer = "y", blobs = ["y"]} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<4x272x4xf32> attributes {outputs = ["y"]} {
    %q = ncnn.Input() {layer = "q", blobs = ["q"], w = 4 : i32, h = 272 : i32, c = 4 : i32} : () -> tensor<4x272x4xf32>
    %m = ncnn.Input() {layer = "m", blobs = ["m"], w = 272 : i32, h = 272 : i32, c = 1 : i32} : () -> tensor<1x272x272xf32>
    %y = ncnn.SDPA(%q, %q, %q, %m) {layer = "y", blobs = ["y"], attn_mask = 1 : i32, scale = 5.000000e-01 : f32} : (tensor<4x272x4xf32>, tensor<4x272x4xf32>, tensor<4x272x4xf32>, tensor<1x272x272xf32>) -> tensor<4x272x4xf32>
    func.return %y : tensor<4x272x4xf32>
  }
}
