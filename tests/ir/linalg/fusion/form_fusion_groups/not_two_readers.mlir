// passes: convert-ncnn-to-linalg,form-fusion-groups
// A value with two readers has memory: its producer ends a group.
builtin.module {
  func.func @network() -> tensor<4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32} : () -> tensor<4xf32>
    %a = ncnn.Sigmoid(%x) {layer = "s", blobs = ["a"], line = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %a0, %a1 = ncnn.Split(%a) {layer = "t", blobs = ["a0", "a1"], line = 5 : i32} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = ncnn.TanH(%a0) {layer = "u", blobs = ["b"], line = 6 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %y = ncnn.BinaryOp(%a1, %b) {layer = "add", blobs = ["y"], line = 7 : i32, op_type = 0 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
// -- changes --
// erased: %x, %a, %a0, %a1, %b, %y
// arguments: %x_1
%a_1 = func.call @k0(%x_1) {layers = ["s"]} : (tensor<4xf32>) -> tensor<4xf32>
%y_1 = func.call @k1(%a_1) {layers = ["u", "add"]} : (tensor<4xf32>) -> tensor<4xf32>
func.return %y_1 : tensor<4xf32>
func.func private @k0(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = tensor.empty() : tensor<4xf32>
  %a_2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "s"} ins(%0 : tensor<4xf32>) outs(%1 : tensor<4xf32>) {
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
  } -> tensor<4xf32>
  func.return %a_2 : tensor<4xf32>
}
func.func private @k1(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = tensor.empty() : tensor<4xf32>
  %2 = tensor.empty() : tensor<4xf32>
  %b_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "u"} ins(%0 : tensor<4xf32>) outs(%1 : tensor<4xf32>) {
  ^bb0(%3: f32, %4: f32):
    %5 = math.tanh %3 : f32
    linalg.yield %5 : f32
  } -> tensor<4xf32>
  %y_2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "add"} ins(%0, %b_1 : tensor<4xf32>, tensor<4xf32>) outs(%2 : tensor<4xf32>) {
  ^bb0(%6: f32, %7: f32, %8: f32):
    %9 = arith.addf %6, %7 : f32
    linalg.yield %9 : f32
  } -> tensor<4xf32>
  func.return %y_2 : tensor<4xf32>
}
