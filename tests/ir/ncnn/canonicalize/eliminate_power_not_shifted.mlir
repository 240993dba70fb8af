// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_power y: it is (0.5 + 1 x) ** 1
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.Power(%data) {layer = "y", blobs = ["y"], power = 1.000000e+00 : f32, scale = 1.000000e+00 : f32, shift = 5.000000e-01 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.Power(%data) {layer = "y", blobs = ["y"], power = 1.000000e+00 : f32, scale = 1.000000e+00 : f32, shift = 5.000000e-01 : f32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
