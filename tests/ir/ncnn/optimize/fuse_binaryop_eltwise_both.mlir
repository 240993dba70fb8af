// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %a = ncnn.Input() {layer = "a", blobs = ["a"], w = 5 : i32, h = 4 : i32} : () -> tensor<*xf32>
    %b = ncnn.Input() {layer = "b", blobs = ["b"], w = 5 : i32, h = 4 : i32} : () -> tensor<*xf32>
    %s = ncnn.BinaryOp(%a) {layer = "s", blobs = ["s"], op_type = 2 : i32, with_scalar = 1 : i32, b = 2.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %t = ncnn.BinaryOp(%b) {layer = "t", blobs = ["t"], op_type = 2 : i32, with_scalar = 1 : i32, b = 3.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%s, %t) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<4x5xf32> attributes {outputs = ["y"]} {
    %a = ncnn.Input() {layer = "a", blobs = ["a"], w = 5 : i32, h = 4 : i32} : () -> tensor<4x5xf32>
    %b = ncnn.Input() {layer = "b", blobs = ["b"], w = 5 : i32, h = 4 : i32} : () -> tensor<4x5xf32>
    %y = ncnn.Eltwise(%a, %b) {layer = "y", blobs = ["y"], op_type = 1 : i32, coeffs = array<f32: 2.000000e+00, 3.000000e+00>} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    func.return %y : tensor<4x5xf32>
  }
}
