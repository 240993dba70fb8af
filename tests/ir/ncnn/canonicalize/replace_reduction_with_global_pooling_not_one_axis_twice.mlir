// passes: infer-shapes,canonicalize-ncnn
// refused: replace_reduction_with_global_pooling y: axes 2 are reduced, not 1 and 2
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {w = 5 : i32, h = 4 : i32, c = 3 : i32, layer = "data", blobs = ["data"]} : () -> tensor<*xf32>
    %r = ncnn.Reduction(%data) {operation = 3 : i32, reduce_all = 0 : i32, fixbug0 = 1 : i32, axes = array<i32: 2>, keepdims = 1 : i32, layer = "r", blobs = ["r"]} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Reduction(%r) {operation = 3 : i32, reduce_all = 0 : i32, fixbug0 = 1 : i32, axes = array<i32: 2>, keepdims = 1 : i32, layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4x1xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %r = ncnn.Reduction(%data) {layer = "r", blobs = ["r"], operation = 3 : i32, reduce_all = 0 : i32, fixbug0 = 1 : i32, axes = array<i32: 2>, keepdims = 1 : i32} : (tensor<3x4x5xf32>) -> tensor<3x4x1xf32>
    %y = ncnn.Reduction(%r) {layer = "y", blobs = ["y"], operation = 3 : i32, reduce_all = 0 : i32, fixbug0 = 1 : i32, axes = array<i32: 2>, keepdims = 1 : i32} : (tensor<3x4x1xf32>) -> tensor<3x4x1xf32>
    func.return %y : tensor<3x4x1xf32>
  }
}
