// passes: infer-shapes,optimize-ncnn
// refused: fuse_activation_activation y: the two activations do not compose to one
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.ReLU(%data) {layer = "a", blobs = ["a"], slope = 1.000000e-01 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Clip(%a) {layer = "y", blobs = ["y"], min = -1.000000e+00 : f32, max = 6.000000e+00 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x5xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %a = ncnn.ReLU(%data) {layer = "a", blobs = ["a"], slope = 1.000000e-01 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %y = ncnn.Clip(%a) {layer = "y", blobs = ["y"], min = -1.000000e+00 : f32, max = 6.000000e+00 : f32} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    func.return %y : tensor<3x4x5xf32>
  }
}
