// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.BinaryOp(%data) {layer = "a", blobs = ["a"], op_type = 0 : i32, with_scalar = 1 : i32, b = 3.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %s = ncnn.Clip(%a) {layer = "s", blobs = ["s"], min = 0.000000e+00 : f32, max = 6.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %m = ncnn.BinaryOp(%data, %s) {layer = "m", blobs = ["m"], op_type = 2 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%m) {layer = "y", blobs = ["y"], op_type = 3 : i32, with_scalar = 1 : i32, b = 6.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.HardSwish(%data) {layer = "y", blobs = ["y"], alpha = 0.166666672 : f32, beta = 5.000000e-01 : f32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
