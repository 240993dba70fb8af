// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Reshape(%data) {layer = "a", blobs = ["a"], w = 15 : i32, h = 4 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Reshape(%a) {layer = "y", blobs = ["y"], w = 0 : i32, h = 2 : i32, c = 2 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2x2x15xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Reshape(%data) {layer = "y", blobs = ["y"], c = 2 : i32, h = 2 : i32, w = 15 : i32} : (tensor<3x4x5xf32>) -> tensor<2x2x15xf32>
    func.return %y : tensor<2x2x15xf32>
  }
}
