// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "z"]} {
    %a = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "a", blobs = ["a"]} : () -> tensor<*xf32>
    %b = ncnn.Input() {w = 7 : i32, layer = "b", blobs = ["b"]} : () -> tensor<*xf32>
    %y, %z = ncnn.Noop(%a, %b) {layer = "y", blobs = ["y", "z"]} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    func.return %y, %z : tensor<*xf32>, tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> (tensor<3x4x5xf32>, tensor<7xf32>) attributes {outputs = ["y", "z"]} {
    %a = ncnn.Input() {layer = "a", blobs = ["a"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %b = ncnn.Input() {layer = "b", blobs = ["b"], w = 7 : i32} : () -> tensor<7xf32>
    func.return %a, %b : tensor<3x4x5xf32>, tensor<7xf32>
  }
}
