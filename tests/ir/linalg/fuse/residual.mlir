// passes: expand-layers,fuse-groups
// The addition joins the sum that it alone reads; the residual is one more operand.
builtin.module {
  func.func @network() -> tensor<2x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 4 : i32, c = 2 : i32} : () -> tensor<2x4x4xf32>
    %x0, %x1 = ncnn.Split(%x) {layer = "s", blobs = ["x0", "x1"], line = 4 : i32} : (tensor<2x4x4xf32>) -> (tensor<2x4x4xf32>, tensor<2x4x4xf32>)
    %c = ncnn.Convolution(%x0) {layer = "conv", blobs = ["c"], line = 5 : i32, num_output = 2 : i32, kernel_w = 1 : i32, weight_data_size = 4 : i32, weight = #ncnn.weight<[2, 2, 1, 1] random 1 0 0.7071067811865475 0.0>} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %y = ncnn.BinaryOp(%c, %x1) {layer = "add", blobs = ["y"], line = 6 : i32, op_type = 0 : i32} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    func.return %y : tensor<2x4x4xf32>
  }
}
// -- becomes --
