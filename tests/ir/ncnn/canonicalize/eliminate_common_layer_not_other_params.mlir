// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Clip(%data) {layer = "a", blobs = ["a"], min = 0.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %b = ncnn.Clip(%data) {layer = "b", blobs = ["b"], min = 1.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%a, %b) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %a = ncnn.Clip(%data) {layer = "a", blobs = ["a"], min = 0.000000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %b = ncnn.Clip(%data) {layer = "b", blobs = ["b"], min = 1.000000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %y = ncnn.BinaryOp(%a, %b) {layer = "y", blobs = ["y"], op_type = 0 : i32} : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    func.return %y : tensor<3x4x5xf32>
  }
}
