// passes: convert-ncnn-to-linalg,form-fusion-groups
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
builtin.module {
  func.func @network(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %0 = ncnn.constant <[2, 2, 1, 1] random 1 0 0.7071067811865475 0.0> : tensor<2x2x1x1xf32>
    %1 = tensor.collapse_shape %0 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<2x2x1x1xf32> into tensor<2x2xf32>
    %y = func.call @k0(%x, %1) {layers = ["conv", "add"]} : (tensor<2x4x4xf32>, tensor<2x2xf32>) -> tensor<2x4x4xf32>
    func.return %y : tensor<2x4x4xf32>
  }
  func.func private @k0(%0: tensor<2x4x4xf32>, %1: tensor<2x2xf32>) -> tensor<2x4x4xf32> {
    %2 = arith.constant 0.000000e+00 : f32
    %3 = tensor.empty() : tensor<2x4x4xf32>
    %4 = linalg.fill ins(%2 : f32) outs(%3 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %5 = tensor.empty() : tensor<2x4x4xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%0, %1 : tensor<2x4x4xf32>, tensor<2x2xf32>) outs(%4 : tensor<2x4x4xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<2x4x4xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "add"} ins(%c, %0 : tensor<2x4x4xf32>, tensor<2x4x4xf32>) outs(%5 : tensor<2x4x4xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.addf %11, %12 : f32
      linalg.yield %14 : f32
    } -> tensor<2x4x4xf32>
    func.return %y : tensor<2x4x4xf32>
  }
}
