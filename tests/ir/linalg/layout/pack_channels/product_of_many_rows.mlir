// passes: convert-ncnn-to-linalg,pack-channels
// A matrix that is fed, whose rows are no whole blocks, is copied into blocks: many rows share them.
builtin.module {
  func.func @network() -> tensor<64x37xf32> attributes {outputs = ["y"]} {
    %a = ncnn.Input() {layer = "a", blobs = ["a"], line = 3 : i32, w = 40 : i32, h = 64 : i32} : () -> tensor<64x40xf32>
    %b = ncnn.Input() {layer = "b", blobs = ["b"], line = 4 : i32, w = 37 : i32, h = 40 : i32} : () -> tensor<40x37xf32>
    %y = ncnn.MatMul(%a, %b) {layer = "product", blobs = ["y"], line = 5 : i32} : (tensor<64x40xf32>, tensor<40x37xf32>) -> tensor<64x37xf32>
    func.return %y : tensor<64x37xf32>
  }
}
// -- changes --
// erased: %a, %b, %y
// arguments: %a_1, %b_1
%0 = tensor.pad %b_1 low[0, 0] high[0, 11] {
^bb0(%1: index, %2: index):
  %3 = arith.constant 0.000000e+00 : f32
  tensor.yield %3 : f32
} : tensor<40x37xf32> to tensor<40x48xf32>
%4 = tensor.expand_shape %0 [[0 : i64], [1 : i64, 2 : i64]] output_shape [40, 3, 16] : tensor<40x48xf32> into tensor<40x3x16xf32>
%5 = tensor.empty() : tensor<64x3x16xf32>
%6 = arith.constant 0.000000e+00 : f32
%7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<64x3x16xf32>) -> tensor<64x3x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "product"} ins(%a_1, %4 : tensor<64x40xf32>, tensor<40x3x16xf32>) outs(%7 : tensor<64x3x16xf32>) {
^bb0(%8: f32, %9: f32, %10: f32):
  %11 = arith.mulf %8, %9 : f32
  %12 = arith.addf %10, %11 : f32
  linalg.yield %12 : f32
} -> tensor<64x3x16xf32>
%13 = tensor.collapse_shape %y_1 [[0 : i64], [1 : i64, 2 : i64]] : tensor<64x3x16xf32> into tensor<64x48xf32>
%14 = tensor.extract_slice %13[0, 0] [64, 37] [1, 1] : tensor<64x48xf32> to tensor<64x37xf32>
func.return %14 : tensor<64x37xf32>
