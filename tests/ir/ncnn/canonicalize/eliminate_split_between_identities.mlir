// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["d", "n"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %a, %b = ncnn.Split(%data) {layer = "a", blobs = ["a", "b"]} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    %d = ncnn.Dropout(%a) {layer = "d", blobs = ["d"]} : (tensor<*xf32>) -> tensor<*xf32>
    %n = ncnn.Noop(%b) {layer = "n", blobs = ["n"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %d, %n : tensor<*xf32>, tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>) attributes {outputs = ["d", "n"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    func.return %data, %data : tensor<3x4x5xf32>, tensor<3x4x5xf32>
  }
}
