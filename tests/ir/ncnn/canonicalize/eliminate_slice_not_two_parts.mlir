// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_slice y: it makes 2 parts
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "z"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<*xf32>
    %y, %z = ncnn.Slice(%data) {layer = "y", blobs = ["y", "z"], slices = array<i32: -233, -233>, axis = 1 : i32} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    func.return %y, %z : tensor<*xf32>, tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>) attributes {outputs = ["y", "z"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 5 : i32, h = 4 : i32, c = 3 : i32} : () -> tensor<3x4x5xf32>
    %y, %z = ncnn.Slice(%data) {layer = "y", blobs = ["y", "z"], slices = array<i32: -233, -233>, axis = 1 : i32} : (tensor<3x4x5xf32>) -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>)
    func.return %y, %z : tensor<3x2x5xf32>, tensor<3x2x5xf32>
  }
}
