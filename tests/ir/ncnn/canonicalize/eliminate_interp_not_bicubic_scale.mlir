// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_interp y: its bicubic weights follow its scales
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.Interp(%data) {layer = "y", blobs = ["y"], resize_type = 3 : i32, height_scale = 1.000000e+00 : f32, width_scale = 1.100000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Interp(%data) {layer = "y", blobs = ["y"], resize_type = 3 : i32, height_scale = 1.000000e+00 : f32, width_scale = 1.100000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    func.return %y : tensor<3x4x5xf32>
  }
}
