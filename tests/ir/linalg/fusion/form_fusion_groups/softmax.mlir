// passes: convert-ncnn-to-linalg,form-fusion-groups
// Each of the four passes needs all that the one before makes: four kernels.
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.Softmax(%x) {layer = "s", blobs = ["y"], line = 4 : i32, axis = 1 : i32, fixbug0 = 1 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = func.call @k0(%x_1) {layers = ["s"]} : (tensor<3x4xf32>) -> tensor<3xf32>
%1 = func.call @k1(%x_1, %0) {layers = ["s"]} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
%2 = func.call @k2(%1) {layers = ["s"]} : (tensor<3x4xf32>) -> tensor<3xf32>
%y_1 = func.call @k3(%1, %2) {layers = ["s"]} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
func.return %y_1 : tensor<3x4xf32>
func.func private @k0(%3: tensor<3x4xf32>) -> tensor<3xf32> {
  %4 = arith.constant 0xff800000 : f32
  %5 = tensor.empty() : tensor<3xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<3xf32>) -> tensor<3xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "s"} ins(%3 : tensor<3x4xf32>) outs(%6 : tensor<3xf32>) {
  ^bb0(%8: f32, %9: f32):
    %10 = arith.maxnumf %9, %8 : f32
    linalg.yield %10 : f32
  } -> tensor<3xf32>
  func.return %7 : tensor<3xf32>
}
func.func private @k1(%3: tensor<3x4xf32>, %4: tensor<3xf32>) -> tensor<3x4xf32> {
  %5 = tensor.empty() : tensor<3x4xf32>
  %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "s"} ins(%3, %4 : tensor<3x4xf32>, tensor<3xf32>) outs(%5 : tensor<3x4xf32>) {
  ^bb0(%7: f32, %8: f32, %9: f32):
    %10 = arith.subf %7, %8 : f32
    %11 = math.exp %10 : f32
    linalg.yield %11 : f32
  } -> tensor<3x4xf32>
  func.return %6 : tensor<3x4xf32>
}
func.func private @k2(%3: tensor<3x4xf32>) -> tensor<3xf32> {
  %4 = arith.constant 0.000000e+00 : f32
  %5 = tensor.empty() : tensor<3xf32>
  %6 = linalg.fill ins(%4 : f32) outs(%5 : tensor<3xf32>) -> tensor<3xf32>
  %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "s"} ins(%3 : tensor<3x4xf32>) outs(%6 : tensor<3xf32>) {
  ^bb0(%8: f32, %9: f32):
    %10 = arith.addf %9, %8 : f32
    linalg.yield %10 : f32
  } -> tensor<3xf32>
  func.return %7 : tensor<3xf32>
}
func.func private @k3(%3: tensor<3x4xf32>, %4: tensor<3xf32>) -> tensor<3x4xf32> {
  %5 = tensor.empty() : tensor<3x4xf32>
  %y_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "s"} ins(%3, %4 : tensor<3x4xf32>, tensor<3xf32>) outs(%5 : tensor<3x4xf32>) {
  ^bb0(%6: f32, %7: f32, %8: f32):
    %9 = arith.divf %6, %7 : f32
    linalg.yield %9 : f32
  } -> tensor<3x4xf32>
  func.return %y_2 : tensor<3x4xf32>
}
