// passes: convert-ncnn-to-linalg,defer-division
// Fires: all terms of a sum have one divisor.
builtin.module {
  func.func @network() -> tensor<2x5x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 5 : i32, c = 2 : i32} : () -> tensor<2x5x6xf32>
    %v = ncnn.Input() {layer = "v", blobs = ["v"], line = 4 : i32, w = 3 : i32, h = 6 : i32, c = 2 : i32} : () -> tensor<2x6x3xf32>
    %s = ncnn.Softmax(%x) {layer = "s", blobs = ["s"], line = 5 : i32, axis = 2 : i32, fixbug0 = 1 : i32} : (tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
    %y = ncnn.MatMul(%s, %v) {layer = "y", blobs = ["y"], line = 6 : i32} : (tensor<2x5x6xf32>, tensor<2x6x3xf32>) -> tensor<2x5x3xf32>
    func.return %y : tensor<2x5x3xf32>
  }
}
// -- changes --
// erased: %x, %v, %s, %y
// arguments: %x_1, %v_1
%0 = tensor.empty() : tensor<2x5xf32>
%1 = arith.constant 0xff800000 : f32
%2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<2x5xf32>) -> tensor<2x5xf32>
%3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "s"} ins(%x_1 : tensor<2x5x6xf32>) outs(%2 : tensor<2x5xf32>) {
^bb0(%4: f32, %5: f32):
  %6 = arith.maxnumf %5, %4 : f32
  linalg.yield %6 : f32
} -> tensor<2x5xf32>
%7 = tensor.empty() : tensor<2x5x6xf32>
%8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "s"} ins(%x_1, %3 : tensor<2x5x6xf32>, tensor<2x5xf32>) outs(%7 : tensor<2x5x6xf32>) {
^bb0(%9: f32, %10: f32, %11: f32):
  %12 = arith.subf %9, %10 : f32
  %13 = math.exp %12 : f32
  linalg.yield %13 : f32
} -> tensor<2x5x6xf32>
%14 = tensor.empty() : tensor<2x5xf32>
%15 = arith.constant 0.000000e+00 : f32
%16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<2x5xf32>) -> tensor<2x5xf32>
%17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "s"} ins(%8 : tensor<2x5x6xf32>) outs(%16 : tensor<2x5xf32>) {
^bb0(%18: f32, %19: f32):
  %20 = arith.addf %19, %18 : f32
  linalg.yield %20 : f32
} -> tensor<2x5xf32>
%21 = tensor.empty() : tensor<2x5x3xf32>
%22 = arith.constant 0.000000e+00 : f32
%23 = linalg.fill ins(%22 : f32) outs(%21 : tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "y"} ins(%8, %v_1 : tensor<2x5x6xf32>, tensor<2x6x3xf32>) outs(%23 : tensor<2x5x3xf32>) {
^bb0(%24: f32, %25: f32, %26: f32):
  %27 = arith.mulf %24, %25 : f32
  %28 = arith.addf %26, %27 : f32
  linalg.yield %28 : f32
} -> tensor<2x5x3xf32>
%29 = tensor.empty() : tensor<2x5x3xf32>
%y_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "y"} ins(%y_1, %17 : tensor<2x5x3xf32>, tensor<2x5xf32>) outs(%29 : tensor<2x5x3xf32>) {
^bb0(%30: f32, %31: f32, %32: f32):
  %33 = arith.divf %30, %31 : f32
  linalg.yield %33 : f32
} -> tensor<2x5x3xf32>
func.return %y_2 : tensor<2x5x3xf32>
