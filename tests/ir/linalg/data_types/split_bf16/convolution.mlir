// passes: convert-ncnn-to-linalg,pack-channels,split-bf16
// Data and weights in two parts each, three products a term; the 32 numbers of a k-tile lie side by side.
builtin.module {
  func.func @network() -> tensor<32x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 64 : i32} : () -> tensor<64x6x6xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 64 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 4096 : i32, weight = #ncnn.weight<[64, 64, 1, 1] random 1 0 0.1 0.0>} : (tensor<64x6x6xf32>) -> tensor<64x6x6xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 32 : i32, kernel_w = 3 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 18432 : i32, weight = #ncnn.weight<[32, 64, 3, 3] random 1 1 0.05 0.0>, bias = #ncnn.weight<[32] random 1 2 0.1 0.0>} : (tensor<64x6x6xf32>) -> tensor<32x4x4xf32>
    func.return %y : tensor<32x4x4xf32>
  }
}
// -- changes --
// erased: %x, %r, %y
// arguments: %x_1
%0 = tensor.expand_shape %x_1 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 32, 6, 6] : tensor<64x6x6xf32> into tensor<2x32x6x6xf32>
%1 = tensor.empty() : tensor<2x6x6x2x32xbf16>
%2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "bf16"} ins(%0 : tensor<2x32x6x6xf32>) outs(%1 : tensor<2x6x6x2x32xbf16>) {
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
} -> tensor<2x6x6x2x32xbf16>
%17 = ncnn.constant <[4, 2, 2, 16, 16, 2] bf16pairs of <[4, 2, 16, 16, 2] blocked [2] 2 of <[4, 2, 32, 16] blocked [0] 16 of <[64, 2, 32] blocked [1] 32 of <[64, 64] random 1 0 0.1 0.0>>>>> : tensor<4x2x2x16x16x2xbf16>
%18 = tensor.empty() : tensor<4x6x6x16xf32>
%19 = arith.constant 0.000000e+00 : f32
%20 = linalg.fill ins(%19 : f32) outs(%18 : tensor<4x6x6x16xf32>) -> tensor<4x6x6x16xf32>
%r_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%2, %17, %17, %2 : tensor<2x6x6x2x32xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<2x6x6x2x32xbf16>) outs(%20 : tensor<4x6x6x16xf32>) {
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
} -> tensor<4x6x6x16xf32>
%36 = tensor.empty() : tensor<2x6x6x2x2x16xbf16>
%37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "bf16"} ins(%r_1 : tensor<4x6x6x16xf32>) outs(%36 : tensor<2x6x6x2x2x16xbf16>) attrs =  {bf16_split} {
^bb0(%38: f32, %39: bf16):
  %40 = linalg.index 3 : index
  %41 = arith.constant 0 : index
  %42 = arith.cmpi eq, %40, %41 : index
  %43 = arith.bitcast %38 : f32 to i32
  %44 = arith.constant 32768 : i32
  %45 = arith.addi %43, %44 : i32
  %46 = arith.constant -65536 : i32
  %47 = arith.andi %45, %46 : i32
  %48 = arith.bitcast %47 : i32 to f32
  %49 = arith.subf %38, %48 : f32
  %50 = arith.select %42, %48, %49 : f32
  %51 = arith.truncf %50 : f32 to bf16
  linalg.yield %51 : bf16
} -> tensor<2x6x6x2x2x16xbf16>
%52 = tensor.collapse_shape %37 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x6x6x2x2x16xbf16> into tensor<2x6x6x2x32xbf16>
%53 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
%54 = tensor.empty() : tensor<2x4x4x16xf32>
%55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%53 : tensor<2x16xf32>) outs(%54 : tensor<2x4x4x16xf32>) {
^bb0(%56: f32, %57: f32):
  linalg.yield %56 : f32
} -> tensor<2x4x4x16xf32>
%58 = ncnn.constant <[2, 2, 3, 3, 2, 16, 16, 2] bf16pairs of <[2, 2, 3, 3, 16, 16, 2] blocked [4] 2 of <[2, 2, 3, 3, 32, 16] blocked [0] 16 of <[32, 2, 3, 3, 32] blocked [1] 32 of <[32, 64, 3, 3] random 1 1 0.05 0.0>>>>> : tensor<2x2x3x3x2x16x16x2xbf16>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), 0, ((d7 * 2) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, 0, d7, d6, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, 1, d7, d6, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), 1, ((d7 * 2) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%52, %58, %58, %52 : tensor<2x6x6x2x32xbf16>, tensor<2x2x3x3x2x16x16x2xbf16>, tensor<2x2x3x3x2x16x16x2xbf16>, tensor<2x6x6x2x32xbf16>) outs(%55 : tensor<2x4x4x16xf32>) {
^bb0(%59: bf16, %60: bf16, %61: bf16, %62: bf16, %63: f32):
  %64 = arith.extf %59 : bf16 to f32
  %65 = arith.extf %60 : bf16 to f32
  %66 = arith.mulf %64, %65 : f32
  %67 = arith.extf %61 : bf16 to f32
  %68 = arith.mulf %64, %67 : f32
  %69 = arith.addf %66, %68 : f32
  %70 = arith.extf %62 : bf16 to f32
  %71 = arith.mulf %70, %65 : f32
  %72 = arith.addf %69, %71 : f32
  %73 = arith.addf %63, %72 : f32
  linalg.yield %73 : f32
} -> tensor<2x4x4x16xf32>
%74 = tensor.empty() : tensor<2x16x4x4xf32>
%75 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<2x4x4x16xf32>) outs(%74 : tensor<2x16x4x4xf32>) {
^bb0(%76: f32, %77: f32):
  linalg.yield %76 : f32
} -> tensor<2x16x4x4xf32>
%78 = tensor.collapse_shape %75 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x4x4xf32> into tensor<32x4x4xf32>
func.return %78 : tensor<32x4x4xf32>
