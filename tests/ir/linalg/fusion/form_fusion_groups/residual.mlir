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
// -- changes --
// erased: %x, %x0, %x1, %c, %y
// arguments: %x_1
%0 = ncnn.constant <[2, 2, 1, 1] random 1 0 0.7071067811865475 0.0> : tensor<2x2x1x1xf32>
%1 = tensor.collapse_shape %0 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<2x2x1x1xf32> into tensor<2x2xf32>
%y_1 = func.call @k0(%x_1, %1) {layers = ["conv", "add"]} : (tensor<2x4x4xf32>, tensor<2x2xf32>) -> tensor<2x4x4xf32>
func.return %y_1 : tensor<2x4x4xf32>
func.func private @k0(%2: tensor<2x4x4xf32>, %3: tensor<2x2xf32>) -> tensor<2x4x4xf32> {
  %4 = arith.constant 0.000000e+00 : f32
  %5 = tensor.empty() : tensor<2x4x4xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %7 = tensor.empty() : tensor<2x4x4xf32>
  %c_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%2, %3 : tensor<2x4x4xf32>, tensor<2x2xf32>) outs(%6 : tensor<2x4x4xf32>) {
  ^bb0(%8: f32, %9: f32, %10: f32):
    %11 = arith.mulf %8, %9 : f32
    %12 = arith.addf %10, %11 : f32
    linalg.yield %12 : f32
  } -> tensor<2x4x4xf32>
  %y_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "add"} ins(%c_1, %2 : tensor<2x4x4xf32>, tensor<2x4x4xf32>) outs(%7 : tensor<2x4x4xf32>) {
  ^bb0(%13: f32, %14: f32, %15: f32):
    %16 = arith.addf %13, %14 : f32
    linalg.yield %16 : f32
  } -> tensor<2x4x4xf32>
  func.return %y_2 : tensor<2x4x4xf32>
}
