// passes: expand-layers,pack-channels,split-halves
// Channels that are no multiple of 16: what lies beyond them in a block is not read.
builtin.module {
  func.func @network() -> tensor<16x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 4 : i32, c = 40 : i32} : () -> tensor<40x4x4xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 40 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 1600 : i32, weight = #ncnn.weight<[40, 40, 1, 1] random 1 0 0.1 0.0>} : (tensor<40x4x4xf32>) -> tensor<40x4x4xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 16 : i32, kernel_w = 1 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 640 : i32, weight = #ncnn.weight<[16, 40, 1, 1] random 1 1 0.05 0.0>, bias = #ncnn.weight<[16] random 1 2 0.1 0.0>} : (tensor<40x4x4xf32>) -> tensor<16x4x4xf32>
    func.return %y : tensor<16x4x4xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<40x4x4xf32>) -> tensor<16x4x4xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 0, 0] high[24, 0, 0] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<40x4x4xf32> to tensor<64x4x4xf32>
    %5 = tensor.expand_shape %0 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 32, 4, 4] : tensor<64x4x4xf32> into tensor<2x32x4x4xf32>
    %6 = tensor.empty() : tensor<2x4x4x2x32xbf16>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%5 : tensor<2x32x4x4xf32>) outs(%6 : tensor<2x4x4x2x32xbf16>) {
    ^bb0(%8: f32, %9: bf16):
      %10 = linalg.index 3 : index
      %11 = arith.constant 0 : index
      %12 = arith.cmpi eq, %10, %11 : index
      %13 = arith.truncf %8 : f32 to bf16
      %14 = arith.extf %13 : bf16 to f32
      %15 = math.absf %14 : f32
      %16 = arith.constant 3.38953139e+38 : f32
      %17 = arith.cmpf ole, %15, %16 : f32
      %18 = arith.subf %8, %14 : f32
      %19 = arith.constant 0.000000e+00 : f32
      %20 = arith.select %17, %18, %19 : f32
      %21 = arith.truncf %20 : f32 to bf16
      %22 = arith.select %12, %13, %21 : bf16
      linalg.yield %22 : bf16
    } -> tensor<2x4x4x2x32xbf16>
    %23 = ncnn.constant <[3, 2, 2, 16, 16, 2] halves of <[3, 2, 16, 16, 2] blocked [2] 2 of <[3, 2, 32, 16] blocked [0] 16 of <[40, 2, 32] blocked [1] 32 of <[40, 40] random 1 0 0.1 0.0>>>>> : tensor<3x2x2x16x16x2xbf16>
    %24 = tensor.empty() : tensor<3x4x4x16xf32>
    %25 = arith.constant 0.000000e+00 : f32
    %26 = linalg.fill ins(%25 : f32) outs(%24 : tensor<3x4x4x16xf32>) -> tensor<3x4x4x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%7, %23, %23, %7 : tensor<2x4x4x2x32xbf16>, tensor<3x2x2x16x16x2xbf16>, tensor<3x2x2x16x16x2xbf16>, tensor<2x4x4x2x32xbf16>) outs(%26 : tensor<3x4x4x16xf32>) {
    ^bb0(%27: bf16, %28: bf16, %29: bf16, %30: bf16, %31: f32):
      %32 = arith.extf %27 : bf16 to f32
      %33 = arith.extf %28 : bf16 to f32
      %34 = arith.mulf %32, %33 : f32
      %35 = arith.extf %29 : bf16 to f32
      %36 = arith.mulf %32, %35 : f32
      %37 = arith.addf %34, %36 : f32
      %38 = arith.extf %30 : bf16 to f32
      %39 = arith.mulf %38, %33 : f32
      %40 = arith.addf %37, %39 : f32
      %41 = arith.addf %31, %40 : f32
      linalg.yield %41 : f32
    } -> tensor<3x4x4x16xf32>
    %42 = tensor.pad %r low[0, 0, 0, 0] high[1, 0, 0, 0] {
    ^bb0(%43: index, %44: index, %45: index, %46: index):
      %47 = arith.constant 0.000000e+00 : f32
      tensor.yield %47 : f32
    } : tensor<3x4x4x16xf32> to tensor<4x4x4x16xf32>
    %48 = ncnn.constant <[64] inline "f4" "0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<64xf32>
    %49 = tensor.expand_shape %48 [[0 : i64, 1 : i64, 2 : i64]] output_shape [2, 2, 16] : tensor<64xf32> into tensor<2x2x16xf32>
    %50 = tensor.empty() : tensor<2x4x4x2x2x16xbf16>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%49, %42 : tensor<2x2x16xf32>, tensor<4x4x4x16xf32>) outs(%50 : tensor<2x4x4x2x2x16xbf16>) {
    ^bb0(%52: f32, %53: f32, %54: bf16):
      %55 = linalg.index 3 : index
      %56 = arith.constant 0 : index
      %57 = arith.cmpi eq, %55, %56 : index
      %58 = arith.constant 0.000000e+00 : f32
      %59 = arith.cmpf ogt, %52, %58 : f32
      %60 = arith.constant 0.000000e+00 : f32
      %61 = arith.select %59, %53, %60 : f32
      %62 = arith.truncf %61 : f32 to bf16
      %63 = arith.extf %62 : bf16 to f32
      %64 = math.absf %63 : f32
      %65 = arith.constant 3.38953139e+38 : f32
      %66 = arith.cmpf ole, %64, %65 : f32
      %67 = arith.subf %61, %63 : f32
      %68 = arith.constant 0.000000e+00 : f32
      %69 = arith.select %66, %67, %68 : f32
      %70 = arith.truncf %69 : f32 to bf16
      %71 = arith.select %57, %62, %70 : bf16
      linalg.yield %71 : bf16
    } -> tensor<2x4x4x2x2x16xbf16>
    %72 = tensor.collapse_shape %51 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x4x4x2x2x16xbf16> into tensor<2x4x4x2x32xbf16>
    %73 = ncnn.constant <[1, 16] blocked [0] 16 of <[16] random 1 2 0.1 0.0>> : tensor<1x16xf32>
    %74 = tensor.empty() : tensor<1x4x4x16xf32>
    %75 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%73 : tensor<1x16xf32>) outs(%74 : tensor<1x4x4x16xf32>) {
    ^bb0(%76: f32, %77: f32):
      linalg.yield %76 : f32
    } -> tensor<1x4x4x16xf32>
    %78 = ncnn.constant <[1, 2, 2, 16, 16, 2] halves of <[1, 2, 16, 16, 2] blocked [2] 2 of <[1, 2, 32, 16] blocked [0] 16 of <[16, 2, 32] blocked [1] 32 of <[16, 40] random 1 1 0.05 0.0>>>>> : tensor<1x2x2x16x16x2xbf16>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%72, %78, %78, %72 : tensor<2x4x4x2x32xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<2x4x4x2x32xbf16>) outs(%75 : tensor<1x4x4x16xf32>) {
    ^bb0(%79: bf16, %80: bf16, %81: bf16, %82: bf16, %83: f32):
      %84 = arith.extf %79 : bf16 to f32
      %85 = arith.extf %80 : bf16 to f32
      %86 = arith.mulf %84, %85 : f32
      %87 = arith.extf %81 : bf16 to f32
      %88 = arith.mulf %84, %87 : f32
      %89 = arith.addf %86, %88 : f32
      %90 = arith.extf %82 : bf16 to f32
      %91 = arith.mulf %90, %85 : f32
      %92 = arith.addf %89, %91 : f32
      %93 = arith.addf %83, %92 : f32
      linalg.yield %93 : f32
    } -> tensor<1x4x4x16xf32>
    %94 = tensor.empty() : tensor<1x16x4x4xf32>
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<1x4x4x16xf32>) outs(%94 : tensor<1x16x4x4xf32>) {
    ^bb0(%96: f32, %97: f32):
      linalg.yield %96 : f32
    } -> tensor<1x16x4x4xf32>
    %98 = tensor.collapse_shape %95 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x4x4xf32> into tensor<16x4x4xf32>
    func.return %98 : tensor<16x4x4xf32>
  }
}
