// passes: expand-layers,fuse-groups
// Two passes over a row: the sum needs all of the exponentials.
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.Softmax(%x) {layer = "s", blobs = ["y"], line = 4 : i32, axis = 1 : i32, fixbug0 = 1 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
// -- becomes --
