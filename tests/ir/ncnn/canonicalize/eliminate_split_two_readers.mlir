// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "z"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %a, %b = ncnn.Split(%data) {layer = "a", blobs = ["a", "b"]} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    %y = ncnn.ReLU(%a) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    %z = ncnn.Sigmoid(%b) {layer = "z", blobs = ["z"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y, %z : tensor<*xf32>, tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> (tensor<3x4x5xf32>, tensor<3x4x5xf32>) attributes {outputs = ["y", "z"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.ReLU(%data) {layer = "y", blobs = ["y"]} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %z = ncnn.Sigmoid(%data) {layer = "z", blobs = ["z"]} : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    func.return %y, %z : tensor<3x4x5xf32>, tensor<3x4x5xf32>
  }
}
