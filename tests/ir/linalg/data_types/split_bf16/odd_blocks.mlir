// passes: convert-ncnn-to-linalg,pack-channels,split-bf16
// A block of zeros makes three blocks two pairs.
builtin.module {
  func.func @network() -> tensor<16x12x12xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 12 : i32, h = 12 : i32, c = 48 : i32} : () -> tensor<48x12x12xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 48 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 2304 : i32, weight = #ncnn.weight<[48, 48, 1, 1] random 1 0 0.1 0.0>} : (tensor<48x12x12xf32>) -> tensor<48x12x12xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 16 : i32, kernel_w = 1 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 768 : i32, weight = #ncnn.weight<[16, 48, 1, 1] random 1 1 0.05 0.0>, bias = #ncnn.weight<[16] random 1 2 0.1 0.0>} : (tensor<48x12x12xf32>) -> tensor<16x12x12xf32>
    func.return %y : tensor<16x12x12xf32>
  }
}
// -- changes --
// erased: %x, %r, %y
// arguments: %x_1
%0 = tensor.pad %x_1 low[0, 0, 0] high[16, 0, 0] {
^bb0(%1: index, %2: index, %3: index):
  %4 = arith.constant 0.000000e+00 : f32
  tensor.yield %4 : f32
} : tensor<48x12x12xf32> to tensor<64x12x12xf32>
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
%22 = ncnn.constant <[3, 2, 2, 16, 16, 2] bf16pairs of <[3, 2, 16, 16, 2] blocked [2] 2 of <[3, 2, 32, 16] blocked [0] 16 of <[48, 2, 32] blocked [1] 32 of <[48, 48] random 1 0 0.1 0.0>>>>> : tensor<3x2x2x16x16x2xbf16>
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
%47 = tensor.empty() : tensor<2x12x12x2x2x16xbf16>
%48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "bf16"} ins(%41 : tensor<4x12x12x16xf32>) outs(%47 : tensor<2x12x12x2x2x16xbf16>) attrs =  {bf16_split} {
^bb0(%49: f32, %50: bf16):
  %51 = linalg.index 3 : index
  %52 = arith.constant 0 : index
  %53 = arith.cmpi eq, %51, %52 : index
  %54 = arith.bitcast %49 : f32 to i32
  %55 = arith.constant 32768 : i32
  %56 = arith.addi %54, %55 : i32
  %57 = arith.constant -65536 : i32
  %58 = arith.andi %56, %57 : i32
  %59 = arith.bitcast %58 : i32 to f32
  %60 = arith.subf %49, %59 : f32
  %61 = arith.select %53, %59, %60 : f32
  %62 = arith.truncf %61 : f32 to bf16
  linalg.yield %62 : bf16
} -> tensor<2x12x12x2x2x16xbf16>
%63 = tensor.collapse_shape %48 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x12x12x2x2x16xbf16> into tensor<2x12x12x2x32xbf16>
%64 = ncnn.constant <[1, 16] blocked [0] 16 of <[16] random 1 2 0.1 0.0>> : tensor<1x16xf32>
%65 = tensor.empty() : tensor<1x12x12x16xf32>
%66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%64 : tensor<1x16xf32>) outs(%65 : tensor<1x12x12x16xf32>) {
^bb0(%67: f32, %68: f32):
  linalg.yield %67 : f32
} -> tensor<1x12x12x16xf32>
%69 = ncnn.constant <[1, 2, 2, 16, 16, 2] bf16pairs of <[1, 2, 16, 16, 2] blocked [2] 2 of <[1, 2, 32, 16] blocked [0] 16 of <[16, 2, 32] blocked [1] 32 of <[16, 48] random 1 1 0.05 0.0>>>>> : tensor<1x2x2x16x16x2xbf16>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%63, %69, %69, %63 : tensor<2x12x12x2x32xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<2x12x12x2x32xbf16>) outs(%66 : tensor<1x12x12x16xf32>) {
^bb0(%70: bf16, %71: bf16, %72: bf16, %73: bf16, %74: f32):
  %75 = arith.extf %70 : bf16 to f32
  %76 = arith.extf %71 : bf16 to f32
  %77 = arith.mulf %75, %76 : f32
  %78 = arith.extf %72 : bf16 to f32
  %79 = arith.mulf %75, %78 : f32
  %80 = arith.addf %77, %79 : f32
  %81 = arith.extf %73 : bf16 to f32
  %82 = arith.mulf %81, %76 : f32
  %83 = arith.addf %80, %82 : f32
  %84 = arith.addf %74, %83 : f32
  linalg.yield %84 : f32
} -> tensor<1x12x12x16xf32>
%85 = tensor.empty() : tensor<1x16x12x12xf32>
%86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y_1 : tensor<1x12x12x16xf32>) outs(%85 : tensor<1x16x12x12xf32>) {
^bb0(%87: f32, %88: f32):
  linalg.yield %87 : f32
} -> tensor<1x16x12x12xf32>
%89 = tensor.collapse_shape %86 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x12x12xf32> into tensor<16x12x12xf32>
func.return %89 : tensor<16x12x12xf32>
