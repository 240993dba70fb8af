// passes: convert-ncnn-to-linalg,form-fusion-groups
// A reader at another index begins a group of its own.
builtin.module {
  func.func @network() -> tensor<4x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %a = ncnn.Sigmoid(%x) {layer = "s", blobs = ["a"], line = 4 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %b = ncnn.Permute(%a) {layer = "p", blobs = ["b"], line = 5 : i32, order_type = 1 : i32} : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %y = ncnn.TanH(%b) {layer = "t", blobs = ["y"], line = 6 : i32} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    func.return %y : tensor<4x3xf32>
  }
}
// -- changes --
// erased: %x, %a, %b, %y
// arguments: %x_1
%a_1 = func.call @k0(%x_1) {layers = ["s"]} : (tensor<3x4xf32>) -> tensor<3x4xf32>
%y_1 = func.call @k1(%a_1) {layers = ["p", "t"]} : (tensor<3x4xf32>) -> tensor<4x3xf32>
func.return %y_1 : tensor<4x3xf32>
func.func private @k0(%0: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %1 = tensor.empty() : tensor<3x4xf32>
  %a_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "s"} ins(%0 : tensor<3x4xf32>) outs(%1 : tensor<3x4xf32>) {
  ^bb0(%2: f32, %3: f32):
    %4 = arith.constant 1.000000e+00 : f32
    %5 = arith.constant -88.3762589 : f32
    %6 = arith.cmpf olt, %2, %5 : f32
    %7 = arith.constant -88.3762589 : f32
    %8 = arith.select %6, %7, %2 : f32
    %9 = arith.constant 88.3762589 : f32
    %10 = arith.cmpf ogt, %8, %9 : f32
    %11 = arith.constant 88.3762589 : f32
    %12 = arith.select %10, %11, %8 : f32
    %13 = arith.negf %12 : f32
    %14 = math.exp %13 : f32
    %15 = arith.constant 1.000000e+00 : f32
    %16 = arith.addf %14, %15 : f32
    %17 = arith.divf %4, %16 : f32
    linalg.yield %17 : f32
  } -> tensor<3x4xf32>
  func.return %a_2 : tensor<3x4xf32>
}
func.func private @k1(%0: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %1 = tensor.empty() : tensor<4x3xf32>
  %2 = tensor.empty() : tensor<4x3xf32>
  %b_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "p"} ins(%0 : tensor<3x4xf32>) outs(%1 : tensor<4x3xf32>) {
  ^bb0(%3: f32, %4: f32):
    linalg.yield %3 : f32
  } -> tensor<4x3xf32>
  %y_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "t"} ins(%b_1 : tensor<4x3xf32>) outs(%2 : tensor<4x3xf32>) {
  ^bb0(%5: f32, %6: f32):
    %7 = math.tanh %5 : f32
    linalg.yield %7 : f32
  } -> tensor<4x3xf32>
  func.return %y_2 : tensor<4x3xf32>
}
