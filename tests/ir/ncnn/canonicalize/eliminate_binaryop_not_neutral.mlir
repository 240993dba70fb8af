// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_binaryop y: op_type 7 has no neutral element
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.BinaryOp(%data) {layer = "y", blobs = ["y"], op_type = 7 : i32, with_scalar = 1 : i32, b = 0.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.BinaryOp(%data) {layer = "y", blobs = ["y"], op_type = 7 : i32, with_scalar = 1 : i32, b = 0.000000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    func.return %y : tensor<3x4x5xf32>
  }
}
