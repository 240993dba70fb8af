// passes: convert-ncnn-to-linalg,defer-division
// Not: a sum adds quotients with several divisors.
builtin.module {
  func.func @network() -> tensor<2x5x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 5 : i32, c = 2 : i32} : () -> tensor<2x5x6xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], line = 4 : i32, w = 3 : i32, h = 6 : i32, c = 2 : i32} : () -> tensor<2x6x3xf32>
    %s = ncnn.Softmax(%x) {layer = "s", blobs = ["s"], line = 5 : i32, axis = 1 : i32, fixbug0 = 1 : i32} : (tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %y = ncnn.MatMul(%s, %v) {layer = "y", blobs = ["y"], line = 6 : i32} : (tensor<2x5x6xf32>, tensor<2x6x3xf32>) -> tensor<2x5x3xf32>
    func.return %y : tensor<2x5x3xf32>
  }
}
// -- changes --
// erased: %x, %v, %s, %y
// arguments: %x_1, %v_1
%0 = tensor.empty() : tensor<2x6xf32>
%1 = arith.constant 0xff800000 : f32
%2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<2x6xf32>) -> tensor<2x6xf32>
%3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"], doc = "s"} ins(%x_1 : tensor<2x5x6xf32>) outs(%2 : tensor<2x6xf32>) {
^bb0(%4: f32, %5: f32):
  %6 = arith.maxnumf %5, %4 : f32
  linalg.yield %6 : f32
} -> tensor<2x6xf32>
%7 = tensor.empty() : tensor<2x5x6xf32>
%8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "s"} ins(%x_1, %3 : tensor<2x5x6xf32>, tensor<2x6xf32>) outs(%7 : tensor<2x5x6xf32>) {
^bb0(%9: f32, %10: f32, %11: f32):
  %12 = arith.subf %9, %10 : f32
  %13 = math.exp %12 : f32
  linalg.yield %13 : f32
} -> tensor<2x5x6xf32>
%14 = tensor.empty() : tensor<2x6xf32>
%15 = arith.constant 0.000000e+00 : f32
%16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<2x6xf32>) -> tensor<2x6xf32>
%17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"], doc = "s"} ins(%8 : tensor<2x5x6xf32>) outs(%16 : tensor<2x6xf32>) {
^bb0(%18: f32, %19: f32):
  %20 = arith.addf %19, %18 : f32
  linalg.yield %20 : f32
} -> tensor<2x6xf32>
%21 = tensor.empty() : tensor<2x5x6xf32>
%s_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "s"} ins(%8, %17 : tensor<2x5x6xf32>, tensor<2x6xf32>) outs(%21 : tensor<2x5x6xf32>) {
^bb0(%22: f32, %23: f32, %24: f32):
  %25 = arith.divf %22, %23 : f32
  linalg.yield %25 : f32
} -> tensor<2x5x6xf32>
%26 = tensor.empty() : tensor<2x5x3xf32>
%27 = arith.constant 0.000000e+00 : f32
%28 = linalg.fill ins(%27 : f32) outs(%26 : tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "y"} ins(%s_1, %v_1 : tensor<2x5x6xf32>, tensor<2x6x3xf32>) outs(%28 : tensor<2x5x3xf32>) {
^bb0(%29: f32, %30: f32, %31: f32):
  %32 = arith.mulf %29, %30 : f32
  %33 = arith.addf %31, %32 : f32
  linalg.yield %33 : f32
} -> tensor<2x5x3xf32>
func.return %y_1 : tensor<2x5x3xf32>
