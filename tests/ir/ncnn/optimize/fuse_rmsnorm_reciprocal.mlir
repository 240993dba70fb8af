// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %q = ncnn.UnaryOp(%data) {layer = "q", blobs = ["q"], op_type = 4 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %v = ncnn.Reduction(%q) {layer = "v", blobs = ["v"], operation = 3 : i32, reduce_all = 0 : i32, axes = array<i32: -1>, keepdims = 1 : i32, fixbug0 = 1 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %e = ncnn.BinaryOp(%v) {layer = "e", blobs = ["e"], op_type = 0 : i32, with_scalar = 1 : i32, b = 1.000000e-05 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %r = ncnn.UnaryOp(%e) {layer = "r", blobs = ["r"], op_type = 6 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%data, %r) {layer = "y", blobs = ["y"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.RMSNorm(%data) {layer = "y", blobs = ["y"], affine_size = 4 : i32, eps = 1.000000e-05 : f32, affine = 0 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
