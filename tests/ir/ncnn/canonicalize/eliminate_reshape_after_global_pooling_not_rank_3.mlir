// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_reshape_after_global_pooling y: its result is no vector
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %p = ncnn.Pooling(%data) {pooling_type = 1 : i32, global_pooling = 1 : i32, layer = "p", blobs = ["p"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Reshape(%p) {w = 1 : i32, h = 1 : i32, c = 3 : i32, layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x1x1xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %p = ncnn.Pooling(%data) {layer = "p", blobs = ["p"], pooling_type = 1 : i32, global_pooling = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<3xf32>
    %y = ncnn.Reshape(%p) {layer = "y", blobs = ["y"], w = 1 : i32, h = 1 : i32, c = 3 : i32} : (tensor<3xf32>) -> tensor<3x1x1xf32>
    func.return %y : tensor<3x1x1xf32>
  }
}
