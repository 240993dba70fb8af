// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %d = ncnn.BinaryOp(%data) {layer = "d", blobs = ["d"], op_type = 3 : i32, with_scalar = 1 : i32, b = 1.41421354 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %e = ncnn.Erf(%d) {layer = "e", blobs = ["e"]} : (tensor<*xf32>) -> tensor<*xf32>
    %p = ncnn.BinaryOp(%e) {layer = "p", blobs = ["p"], op_type = 0 : i32, with_scalar = 1 : i32, b = 1.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %m = ncnn.BinaryOp(%data, %p) {layer = "m", blobs = ["m"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%m) {layer = "y", blobs = ["y"], op_type = 2 : i32, with_scalar = 1 : i32, b = 5.000000e-01 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.GELU(%data) {layer = "y", blobs = ["y"]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
