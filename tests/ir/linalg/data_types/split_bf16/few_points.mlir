// passes: convert-ncnn-to-linalg,pack-channels,split-bf16
// Not the second one: four points leave most of a tile empty.
builtin.module {
  func.func @network() -> tensor<32x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 3 : i32, h = 3 : i32, c = 64 : i32} : () -> tensor<64x3x3xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 64 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 4096 : i32, weight = #ncnn.weight<[64, 64, 1, 1] random 1 0 0.1 0.0>} : (tensor<64x3x3xf32>) -> tensor<64x3x3xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 32 : i32, kernel_w = 2 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 8192 : i32, weight = #ncnn.weight<[32, 64, 2, 2] random 1 1 0.05 0.0>, bias = #ncnn.weight<[32] random 1 2 0.1 0.0>} : (tensor<64x3x3xf32>) -> tensor<32x2x2xf32>
    func.return %y : tensor<32x2x2xf32>
  }
}
// -- changes --
// erased: %x, %r, %y
// arguments: %x_1
%0 = tensor.expand_shape %x_1 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 32, 3, 3] : tensor<64x3x3xf32> into tensor<2x32x3x3xf32>
%1 = tensor.empty() : tensor<2x3x3x2x32xbf16>
%2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "bf16"} ins(%0 : tensor<2x32x3x3xf32>) outs(%1 : tensor<2x3x3x2x32xbf16>) {
^bb0(%3: f32, %4: bf16):
  %5 = linalg.index 3 : index
  %6 = arith.constant 0 : index
  %7 = arith.cmpi eq, %5, %6 : index
  %8 = arith.bitcast %3 : f32 to i32
  %9 = arith.constant 32768 : i32
  %10 = arith.addi %8, %9 : i32
  %11 = arith.constant -65536 : i32
  %12 = arith.andi %10, %11 : i32
  %13 = arith.bitcast %12 : i32 to f32
  %14 = arith.subf %3, %13 : f32
  %15 = arith.select %7, %13, %14 : f32
  %16 = arith.truncf %15 : f32 to bf16
  linalg.yield %16 : bf16
} -> tensor<2x3x3x2x32xbf16>
%17 = ncnn.constant <[4, 2, 2, 16, 16, 2] bf16pairs of <[4, 2, 16, 16, 2] blocked [2] 2 of <[4, 2, 32, 16] blocked [0] 16 of <[64, 2, 32] blocked [1] 32 of <[64, 64] random 1 0 0.1 0.0>>>>> : tensor<4x2x2x16x16x2xbf16>
%18 = tensor.empty() : tensor<4x3x3x16xf32>
%19 = arith.constant 0.000000e+00 : f32
%20 = linalg.fill ins(%19 : f32) outs(%18 : tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xf32>
%r_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%2, %17, %17, %2 : tensor<2x3x3x2x32xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<2x3x3x2x32xbf16>) outs(%20 : tensor<4x3x3x16xf32>) {
^bb0(%21: bf16, %22: bf16, %23: bf16, %24: bf16, %25: f32):
  %26 = arith.extf %21 : bf16 to f32
  %27 = arith.extf %22 : bf16 to f32
  %28 = arith.mulf %26, %27 : f32
  %29 = arith.extf %23 : bf16 to f32
  %30 = arith.mulf %26, %29 : f32
  %31 = arith.addf %28, %30 : f32
  %32 = arith.extf %24 : bf16 to f32
  %33 = arith.mulf %32, %27 : f32
  %34 = arith.addf %31, %33 : f32
  %35 = arith.addf %25, %34 : f32
  linalg.yield %35 : f32
} -> tensor<4x3x3x16xf32>
%36 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
%37 = tensor.empty() : tensor<2x2x2x16xf32>
%38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%36 : tensor<2x16xf32>) outs(%37 : tensor<2x2x2x16xf32>) {
^bb0(%39: f32, %40: f32):
  linalg.yield %39 : f32
} -> tensor<2x2x2x16xf32>
%41 = ncnn.constant <[2, 4, 2, 2, 16, 16] blocked [1, 0] 16 of <[32, 64, 2, 2] random 1 1 0.05 0.0>> : tensor<2x4x2x2x16x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%r_1, %41 : tensor<4x3x3x16xf32>, tensor<2x4x2x2x16x16xf32>) outs(%38 : tensor<2x2x2x16xf32>) {
^bb0(%42: f32, %43: f32, %44: f32):
  %45 = arith.mulf %42, %43 : f32
  %46 = arith.addf %44, %45 : f32
  linalg.yield %46 : f32
} -> tensor<2x2x2x16xf32>
%47 = tensor.empty() : tensor<2x16x2x2xf32>
%48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<2x2x2x16xf32>) outs(%47 : tensor<2x16x2x2xf32>) {
^bb0(%49: f32, %50: f32):
  linalg.yield %49 : f32
} -> tensor<2x16x2x2xf32>
%51 = tensor.collapse_shape %48 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x2x2xf32> into tensor<32x2x2xf32>
func.return %51 : tensor<32x2x2xf32>
