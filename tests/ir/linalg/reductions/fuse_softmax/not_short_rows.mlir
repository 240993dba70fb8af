// passes: convert-ncnn-to-linalg,fuse-softmax
// Not: rows of 20 elements do not fill vectors well.
builtin.module {
  func.func @network() -> tensor<10x20xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 20 : i32, h = 10 : i32} : () -> tensor<10x20xf32>
    %y = ncnn.Softmax(%x) {layer = "y", blobs = ["y"], line = 4 : i32, axis = 1 : i32, fixbug0 = 1 : i32} : (tensor<10x20xf32>) -> tensor<10x20xf32>
    func.return %y : tensor<10x20xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = tensor.empty() : tensor<10xf32>
%1 = arith.constant 0xff800000 : f32
%2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<10xf32>) -> tensor<10xf32>
%3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "y"} ins(%x_1 : tensor<10x20xf32>) outs(%2 : tensor<10xf32>) {
^bb0(%4: f32, %5: f32):
  %6 = arith.maxnumf %5, %4 : f32
  linalg.yield %6 : f32
} -> tensor<10xf32>
%7 = tensor.empty() : tensor<10x20xf32>
%8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "y"} ins(%x_1, %3 : tensor<10x20xf32>, tensor<10xf32>) outs(%7 : tensor<10x20xf32>) {
^bb0(%9: f32, %10: f32, %11: f32):
  %12 = arith.subf %9, %10 : f32
  %13 = math.exp %12 : f32
  linalg.yield %13 : f32
} -> tensor<10x20xf32>
%14 = tensor.empty() : tensor<10xf32>
%15 = arith.constant 0.000000e+00 : f32
%16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<10xf32>) -> tensor<10xf32>
%17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "y"} ins(%8 : tensor<10x20xf32>) outs(%16 : tensor<10xf32>) {
^bb0(%18: f32, %19: f32):
  %20 = arith.addf %19, %18 : f32
  linalg.yield %20 : f32
} -> tensor<10xf32>
%21 = tensor.empty() : tensor<10x20xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "y"} ins(%8, %17 : tensor<10x20xf32>, tensor<10xf32>) outs(%21 : tensor<10x20xf32>) {
^bb0(%22: f32, %23: f32, %24: f32):
  %25 = arith.divf %22, %23 : f32
  linalg.yield %25 : f32
} -> tensor<10x20xf32>
func.return %y_1 : tensor<10x20xf32>
