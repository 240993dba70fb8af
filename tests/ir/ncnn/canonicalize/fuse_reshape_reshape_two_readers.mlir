// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "z"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %a = ncnn.Flatten(%data) {layer = "a", blobs = ["a"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Reshape(%a) {layer = "y", blobs = ["y"], w = 10 : i32, h = 6 : i32} : (tensor<*xf32>) -> tensor<*xf32>
    %z = ncnn.Sigmoid(%a) {layer = "z", blobs = ["z"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y, %z : tensor<*xf32>, tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> (tensor<6x10xf32>, tensor<60xf32>) attributes {outputs = ["y", "z"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %a = ncnn.Flatten(%data) {layer = "a", blobs = ["a"]} : (tensor<3x4x5xf32>) -> tensor<60xf32>
    %y = ncnn.Reshape(%data) {layer = "y", blobs = ["y"], w = 10 : i32, h = 6 : i32} : (tensor<3x4x5xf32>) -> tensor<6x10xf32>
    %z = ncnn.Sigmoid(%a) {layer = "z", blobs = ["z"]} : (tensor<60xf32>) -> tensor<60xf32>
    func.return %y, %z : tensor<6x10xf32>, tensor<60xf32>
  }
}
