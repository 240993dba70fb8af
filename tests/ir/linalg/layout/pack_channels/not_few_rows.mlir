// passes: convert-ncnn-to-linalg,pack-channels
// Not: an input whose rows are no whole blocks is read as it lies, because few rows share a copy.
builtin.module {
  func.func @network() -> tensor<2x37xf32> attributes {outputs = ["y"]} {
    %a = ncnn.Input() {layer = "a", blobs = ["a"], line = 3 : i32, w = 40 : i32, h = 2 : i32} : () -> tensor<2x40xf32>
    %b = ncnn.Input() {layer = "b", blobs = ["b"], line = 4 : i32, w = 37 : i32, h = 40 : i32} : () -> tensor<40x37xf32>
    %y = ncnn.MatMul(%a, %b) {layer = "product", blobs = ["y"], line = 5 : i32} : (tensor<2x40xf32>, tensor<40x37xf32>) -> tensor<2x37xf32>
    func.return %y : tensor<2x37xf32>
  }
}
// -- changes --
// erased: %a, %b, %y
// arguments: %a_1, %b_1
%0 = tensor.empty() : tensor<2x37xf32>
%1 = arith.constant 0.000000e+00 : f32
%2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<2x37xf32>) -> tensor<2x37xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "product"} ins(%a_1, %b_1 : tensor<2x40xf32>, tensor<40x37xf32>) outs(%2 : tensor<2x37xf32>) {
^bb0(%3: f32, %4: f32, %5: f32):
  %6 = arith.mulf %3, %4 : f32
  %7 = arith.addf %5, %6 : f32
  linalg.yield %7 : f32
} -> tensor<2x37xf32>
func.return %y_1 : tensor<2x37xf32>
