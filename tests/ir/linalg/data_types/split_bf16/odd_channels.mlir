// passes: convert-ncnn-to-linalg,pack-channels,split-bf16
// Channels that are no multiple of 16: what lies beyond them in a block is not read.
builtin.module {
  func.func @network() -> tensor<16x12x12xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 12 : i32, h = 12 : i32, c = 40 : i32} : () -> tensor<40x12x12xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 40 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 1600 : i32, weight = #ncnn.weight<[40, 40, 1, 1] random 1 0 0.1 0.0>} : (tensor<40x12x12xf32>) -> tensor<40x12x12xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 16 : i32, kernel_w = 1 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 640 : i32, weight = #ncnn.weight<[16, 40, 1, 1] random 1 1 0.05 0.0>, bias = #ncnn.weight<[16] random 1 2 0.1 0.0>} : (tensor<40x12x12xf32>) -> tensor<16x12x12xf32>
    func.return %y : tensor<16x12x12xf32>
  }
}
// -- changes --
// erased: %x, %r, %y
// arguments: %x_1
%0 = tensor.pad %x_1 low[0, 0, 0] high[24, 0, 0] {
^bb0(%1: index, %2: index, %3: index):
  %4 = arith.constant 0.000000e+00 : f32
  tensor.yield %4 : f32
} : tensor<40x12x12xf32> to tensor<64x12x12xf32>
%5 = tensor.expand_shape %0 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 32, 12, 12] : tensor<64x12x12xf32> into tensor<2x32x12x12xf32>
%6 = tensor.empty() : tensor<2x12x12x2x32xbf16>
%7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "bf16"} ins(%5 : tensor<2x32x12x12xf32>) outs(%6 : tensor<2x12x12x2x32xbf16>) {
^bb0(%8: f32, %9: bf16):
  %10 = linalg.index 3 : index
  %11 = arith.constant 0 : index
  %12 = arith.cmpi eq, %10, %11 : index
  %13 = arith.bitcast %8 : f32 to i32
  %14 = arith.constant 32768 : i32
  %15 = arith.addi %13, %14 : i32
  %16 = arith.constant -65536 : i32
  %17 = arith.andi %15, %16 : i32
  %18 = arith.bitcast %17 : i32 to f32
  %19 = arith.subf %8, %18 : f32
  %20 = arith.select %12, %18, %19 : f32
  %21 = arith.truncf %20 : f32 to bf16
  linalg.yield %21 : bf16
} -> tensor<2x12x12x2x32xbf16>
%22 = ncnn.constant <[3, 2, 2, 16, 16, 2] bf16pairs of <[3, 2, 16, 16, 2] blocked [2] 2 of <[3, 2, 32, 16] blocked [0] 16 of <[40, 2, 32] blocked [1] 32 of <[40, 40] random 1 0 0.1 0.0>>>>> : tensor<3x2x2x16x16x2xbf16>
%23 = tensor.empty() : tensor<3x12x12x16xf32>
%24 = arith.constant 0.000000e+00 : f32
%25 = linalg.fill ins(%24 : f32) outs(%23 : tensor<3x12x12x16xf32>) -> tensor<3x12x12x16xf32>
%r_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%7, %22, %22, %7 : tensor<2x12x12x2x32xbf16>, tensor<3x2x2x16x16x2xbf16>, tensor<3x2x2x16x16x2xbf16>, tensor<2x12x12x2x32xbf16>) outs(%25 : tensor<3x12x12x16xf32>) {
^bb0(%26: bf16, %27: bf16, %28: bf16, %29: bf16, %30: f32):
  %31 = arith.extf %26 : bf16 to f32
  %32 = arith.extf %27 : bf16 to f32
  %33 = arith.mulf %31, %32 : f32
  %34 = arith.extf %28 : bf16 to f32
  %35 = arith.mulf %31, %34 : f32
  %36 = arith.addf %33, %35 : f32
  %37 = arith.extf %29 : bf16 to f32
  %38 = arith.mulf %37, %32 : f32
  %39 = arith.addf %36, %38 : f32
  %40 = arith.addf %30, %39 : f32
  linalg.yield %40 : f32
} -> tensor<3x12x12x16xf32>
%41 = tensor.pad %r_1 low[0, 0, 0, 0] high[1, 0, 0, 0] {
^bb0(%42: index, %43: index, %44: index, %45: index):
  %46 = arith.constant 0.000000e+00 : f32
  tensor.yield %46 : f32
} : tensor<3x12x12x16xf32> to tensor<4x12x12x16xf32>
%47 = ncnn.constant <[64] inline "f4" "0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<64xf32>
%48 = tensor.expand_shape %47 [[0 : i64, 1 : i64, 2 : i64]] output_shape [2, 2, 16] : tensor<64xf32> into tensor<2x2x16xf32>
%49 = tensor.empty() : tensor<2x12x12x2x2x16xbf16>
%50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "bf16"} ins(%48, %41 : tensor<2x2x16xf32>, tensor<4x12x12x16xf32>) outs(%49 : tensor<2x12x12x2x2x16xbf16>) attrs =  {bf16_split} {
^bb0(%51: f32, %52: f32, %53: bf16):
  %54 = linalg.index 3 : index
  %55 = arith.constant 0 : index
  %56 = arith.cmpi eq, %54, %55 : index
  %57 = arith.constant 0.000000e+00 : f32
  %58 = arith.cmpf ogt, %51, %57 : f32
  %59 = arith.constant 0.000000e+00 : f32
  %60 = arith.select %58, %52, %59 : f32
  %61 = arith.bitcast %60 : f32 to i32
  %62 = arith.constant 32768 : i32
  %63 = arith.addi %61, %62 : i32
  %64 = arith.constant -65536 : i32
  %65 = arith.andi %63, %64 : i32
  %66 = arith.bitcast %65 : i32 to f32
  %67 = arith.subf %60, %66 : f32
  %68 = arith.select %56, %66, %67 : f32
  %69 = arith.truncf %68 : f32 to bf16
  linalg.yield %69 : bf16
} -> tensor<2x12x12x2x2x16xbf16>
%70 = tensor.collapse_shape %50 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x12x12x2x2x16xbf16> into tensor<2x12x12x2x32xbf16>
%71 = ncnn.constant <[1, 16] blocked [0] 16 of <[16] random 1 2 0.1 0.0>> : tensor<1x16xf32>
%72 = tensor.empty() : tensor<1x12x12x16xf32>
%73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%71 : tensor<1x16xf32>) outs(%72 : tensor<1x12x12x16xf32>) {
^bb0(%74: f32, %75: f32):
  linalg.yield %74 : f32
} -> tensor<1x12x12x16xf32>
%76 = ncnn.constant <[1, 2, 2, 16, 16, 2] bf16pairs of <[1, 2, 16, 16, 2] blocked [2] 2 of <[1, 2, 32, 16] blocked [0] 16 of <[16, 2, 32] blocked [1] 32 of <[16, 40] random 1 1 0.05 0.0>>>>> : tensor<1x2x2x16x16x2xbf16>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%70, %76, %76, %70 : tensor<2x12x12x2x32xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<2x12x12x2x32xbf16>) outs(%73 : tensor<1x12x12x16xf32>) {
^bb0(%77: bf16, %78: bf16, %79: bf16, %80: bf16, %81: f32):
  %82 = arith.extf %77 : bf16 to f32
  %83 = arith.extf %78 : bf16 to f32
  %84 = arith.mulf %82, %83 : f32
  %85 = arith.extf %79 : bf16 to f32
  %86 = arith.mulf %82, %85 : f32
  %87 = arith.addf %84, %86 : f32
  %88 = arith.extf %80 : bf16 to f32
  %89 = arith.mulf %88, %83 : f32
  %90 = arith.addf %87, %89 : f32
  %91 = arith.addf %81, %90 : f32
  linalg.yield %91 : f32
} -> tensor<1x12x12x16xf32>
%92 = tensor.empty() : tensor<1x16x12x12xf32>
%93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<1x12x12x16xf32>) outs(%92 : tensor<1x16x12x12xf32>) {
^bb0(%94: f32, %95: f32):
  linalg.yield %94 : f32
} -> tensor<1x16x12x12xf32>
%96 = tensor.collapse_shape %93 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x12x12xf32> into tensor<16x12x12xf32>
func.return %96 : tensor<16x12x12xf32>
