// passes: convert-ncnn-to-linalg,hoist-reductions
// Each sum stands behind the last of its two values; a sum with a value that is read again stays.
builtin.module {
  func.func @network() -> (tensor<4xf32>, tensor<4xf32>) attributes {outputs = ["t", "u"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32} : () -> tensor<4xf32>
    %a = ncnn.ReLU(%x) {layer = "a", blobs = ["a"], line = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %b = ncnn.AbsVal(%x) {layer = "b", blobs = ["b"], line = 5 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %c = ncnn.ReLU(%x) {layer = "c", blobs = ["c"], line = 6 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %d = ncnn.AbsVal(%x) {layer = "d", blobs = ["d"], line = 7 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %s = ncnn.BinaryOp(%a, %b) {layer = "s", blobs = ["s"], line = 8 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %t = ncnn.BinaryOp(%s, %c) {layer = "t", blobs = ["t"], line = 9 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %u = ncnn.BinaryOp(%t, %d) {layer = "u", blobs = ["u"], line = 10 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    func.return %t, %u : tensor<4xf32>, tensor<4xf32>
  }
}
// -- changes --
// erased: %x, %a, %b, %c, %d, %s, %t, %u
// arguments: %x_1
%0 = tensor.empty() : tensor<4xf32>
%a_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "a"} ins(%x_1 : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
^bb0(%1: f32, %2: f32):
  %3 = arith.constant 0.000000e+00 : f32
  %4 = arith.cmpf olt, %1, %3 : f32
  %5 = arith.constant 0.000000e+00 : f32
  %6 = arith.select %4, %5, %1 : f32
  linalg.yield %6 : f32
} -> tensor<4xf32>
%7 = tensor.empty() : tensor<4xf32>
%b_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "b"} ins(%x_1 : tensor<4xf32>) outs(%7 : tensor<4xf32>) {
^bb0(%8: f32, %9: f32):
  %10 = math.absf %8 : f32
  linalg.yield %10 : f32
} -> tensor<4xf32>
%11 = tensor.empty() : tensor<4xf32>
%s_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "s"} ins(%a_1, %b_1 : tensor<4xf32>, tensor<4xf32>) outs(%11 : tensor<4xf32>) {
^bb0(%12: f32, %13: f32, %14: f32):
  %15 = arith.addf %12, %13 : f32
  linalg.yield %15 : f32
} -> tensor<4xf32>
%16 = tensor.empty() : tensor<4xf32>
%c_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "c"} ins(%x_1 : tensor<4xf32>) outs(%16 : tensor<4xf32>) {
^bb0(%17: f32, %18: f32):
  %19 = arith.constant 0.000000e+00 : f32
  %20 = arith.cmpf olt, %17, %19 : f32
  %21 = arith.constant 0.000000e+00 : f32
  %22 = arith.select %20, %21, %17 : f32
  linalg.yield %22 : f32
} -> tensor<4xf32>
%23 = tensor.empty() : tensor<4xf32>
%t_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "t"} ins(%s_1, %c_1 : tensor<4xf32>, tensor<4xf32>) outs(%23 : tensor<4xf32>) {
^bb0(%24: f32, %25: f32, %26: f32):
  %27 = arith.addf %24, %25 : f32
  linalg.yield %27 : f32
} -> tensor<4xf32>
%28 = tensor.empty() : tensor<4xf32>
%d_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "d"} ins(%x_1 : tensor<4xf32>) outs(%28 : tensor<4xf32>) {
^bb0(%29: f32, %30: f32):
  %31 = math.absf %29 : f32
  linalg.yield %31 : f32
} -> tensor<4xf32>
%32 = tensor.empty() : tensor<4xf32>
%u_1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], doc = "u"} ins(%t_1, %d_1 : tensor<4xf32>, tensor<4xf32>) outs(%32 : tensor<4xf32>) {
^bb0(%33: f32, %34: f32, %35: f32):
  %36 = arith.addf %33, %34 : f32
  linalg.yield %36 : f32
} -> tensor<4xf32>
func.return %t_1, %u_1 : tensor<4xf32>, tensor<4xf32>
