// passes: infer-shapes,optimize-ncnn
// refused: fuse_layernorm y: it takes other axes together than LayerNorm does
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %m = ncnn.Reduction(%data) {layer = "m", blobs = ["m"], operation = 3 : i32, reduce_all = 0 : i32, axes = array<i32: 0>, keepdims = 1 : i32, fixbug0 = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %d = ncnn.BinaryOp(%data, %m) {layer = "d", blobs = ["d"], op_type = 1 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %q = ncnn.BinaryOp(%d, %d) {layer = "q", blobs = ["q"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %v = ncnn.Reduction(%q) {layer = "v", blobs = ["v"], operation = 3 : i32, reduce_all = 0 : i32, axes = array<i32: 0>, keepdims = 1 : i32, fixbug0 = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %e = ncnn.BinaryOp(%v) {layer = "e", blobs = ["e"], op_type = 0 : i32, with_scalar = 1 : i32, b = 1.000000e-05 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %r = ncnn.UnaryOp(%e) {layer = "r", blobs = ["r"], op_type = 5 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%d, %r) {layer = "y", blobs = ["y"], op_type = 3 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %m = ncnn.Reduction(%data) {layer = "m", blobs = ["m"], operation = 3 : i32, reduce_all = 0 : i32, axes = array<i32: 0>, keepdims = 1 : i32, fixbug0 = 1 : i32} : (tensor<3x4xf32>) -> tensor<1x4xf32>
    %d = ncnn.BinaryOp(%data, %m) {layer = "d", blobs = ["d"], op_type = 1 : i32} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %q = ncnn.BinaryOp(%d, %d) {layer = "q", blobs = ["q"], op_type = 2 : i32} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %v = ncnn.Reduction(%q) {layer = "v", blobs = ["v"], operation = 3 : i32, reduce_all = 0 : i32, axes = array<i32: 0>, keepdims = 1 : i32, fixbug0 = 1 : i32} : (tensor<3x4xf32>) -> tensor<1x4xf32>
    %e = ncnn.BinaryOp(%v) {layer = "e", blobs = ["e"], op_type = 0 : i32, with_scalar = 1 : i32, b = 1.000000e-05 : f32} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %r = ncnn.UnaryOp(%e) {layer = "r", blobs = ["r"], op_type = 5 : i32} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %y = ncnn.BinaryOp(%d, %r) {layer = "y", blobs = ["y"], op_type = 3 : i32} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
