// passes: infer-shapes,canonicalize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %r = ncnn.Reduction(%data) {operation = 3 : i32, reduce_all = 0 : i32, fixbug0 = 1 : i32, axes = array<i32: 2>, layer = "r", blobs = ["r"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Reduction(%r) {operation = 3 : i32, reduce_all = 0 : i32, fixbug0 = 1 : i32, axes = array<i32: 1>, layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y = ncnn.Pooling(%data) {layer = "y", blobs = ["y"], pooling_type = 1 : i32, global_pooling = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<3xf32>
    func.return %y : tensor<3xf32>
  }
}
