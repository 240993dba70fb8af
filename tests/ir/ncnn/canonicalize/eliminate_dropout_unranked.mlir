// passes: canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %d = ncnn.Dropout(%data) {layer = "d", blobs = ["d"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.ReLU(%d) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %y = ncnn.ReLU(%data) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
