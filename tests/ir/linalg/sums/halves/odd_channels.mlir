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
      %15 = arith.subf %8, %14 : f32
      %16 = arith.truncf %15 : f32 to bf16
      %17 = arith.select %12, %13, %16 : bf16
      linalg.yield %17 : bf16
    } -> tensor<2x4x4x2x32xbf16>
    %18 = ncnn.constant <[3, 2, 2, 16, 16, 2] halves of <[3, 2, 16, 16, 2] blocked [2] 2 of <[3, 2, 32, 16] blocked [0] 16 of <[40, 2, 32] blocked [1] 32 of <[40, 40] random 1 0 0.1 0.0>>>>> : tensor<3x2x2x16x16x2xbf16>
    %19 = tensor.empty() : tensor<3x4x4x16xf32>
    %20 = arith.constant 0.000000e+00 : f32
    %21 = linalg.fill ins(%20 : f32) outs(%19 : tensor<3x4x4x16xf32>) -> tensor<3x4x4x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%7, %18, %18, %7 : tensor<2x4x4x2x32xbf16>, tensor<3x2x2x16x16x2xbf16>, tensor<3x2x2x16x16x2xbf16>, tensor<2x4x4x2x32xbf16>) outs(%21 : tensor<3x4x4x16xf32>) {
    ^bb0(%22: bf16, %23: bf16, %24: bf16, %25: bf16, %26: f32):
      %27 = arith.extf %22 : bf16 to f32
      %28 = arith.extf %23 : bf16 to f32
      %29 = arith.mulf %27, %28 : f32
      %30 = arith.extf %24 : bf16 to f32
      %31 = arith.mulf %27, %30 : f32
      %32 = arith.addf %29, %31 : f32
      %33 = arith.extf %25 : bf16 to f32
      %34 = arith.mulf %33, %28 : f32
      %35 = arith.addf %32, %34 : f32
      %36 = arith.addf %26, %35 : f32
      linalg.yield %36 : f32
    } -> tensor<3x4x4x16xf32>
    %37 = tensor.pad %r low[0, 0, 0, 0] high[1, 0, 0, 0] {
    ^bb0(%38: index, %39: index, %40: index, %41: index):
      %42 = arith.constant 0.000000e+00 : f32
      tensor.yield %42 : f32
    } : tensor<3x4x4x16xf32> to tensor<4x4x4x16xf32>
    %43 = ncnn.constant <[64] inline "f4" "0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<64xf32>
    %44 = tensor.expand_shape %43 [[0 : i64, 1 : i64, 2 : i64]] output_shape [2, 2, 16] : tensor<64xf32> into tensor<2x2x16xf32>
    %45 = tensor.empty() : tensor<2x4x4x2x2x16xbf16>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%44, %37 : tensor<2x2x16xf32>, tensor<4x4x4x16xf32>) outs(%45 : tensor<2x4x4x2x2x16xbf16>) attrs =  {halves} {
    ^bb0(%47: f32, %48: f32, %49: bf16):
      %50 = linalg.index 3 : index
      %51 = arith.constant 0 : index
      %52 = arith.cmpi eq, %50, %51 : index
      %53 = arith.constant 0.000000e+00 : f32
      %54 = arith.cmpf ogt, %47, %53 : f32
      %55 = arith.constant 0.000000e+00 : f32
      %56 = arith.select %54, %48, %55 : f32
      %57 = arith.truncf %56 : f32 to bf16
      %58 = arith.extf %57 : bf16 to f32
      %59 = arith.subf %56, %58 : f32
      %60 = arith.truncf %59 : f32 to bf16
      %61 = arith.select %52, %57, %60 : bf16
      linalg.yield %61 : bf16
    } -> tensor<2x4x4x2x2x16xbf16>
    %62 = tensor.collapse_shape %46 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x4x4x2x2x16xbf16> into tensor<2x4x4x2x32xbf16>
    %63 = ncnn.constant <[1, 16] blocked [0] 16 of <[16] random 1 2 0.1 0.0>> : tensor<1x16xf32>
    %64 = tensor.empty() : tensor<1x4x4x16xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%63 : tensor<1x16xf32>) outs(%64 : tensor<1x4x4x16xf32>) {
    ^bb0(%66: f32, %67: f32):
      linalg.yield %66 : f32
    } -> tensor<1x4x4x16xf32>
    %68 = ncnn.constant <[1, 2, 2, 16, 16, 2] halves of <[1, 2, 16, 16, 2] blocked [2] 2 of <[1, 2, 32, 16] blocked [0] 16 of <[16, 2, 32] blocked [1] 32 of <[16, 40] random 1 1 0.05 0.0>>>>> : tensor<1x2x2x16x16x2xbf16>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%62, %68, %68, %62 : tensor<2x4x4x2x32xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<2x4x4x2x32xbf16>) outs(%65 : tensor<1x4x4x16xf32>) {
    ^bb0(%69: bf16, %70: bf16, %71: bf16, %72: bf16, %73: f32):
      %74 = arith.extf %69 : bf16 to f32
      %75 = arith.extf %70 : bf16 to f32
      %76 = arith.mulf %74, %75 : f32
      %77 = arith.extf %71 : bf16 to f32
      %78 = arith.mulf %74, %77 : f32
      %79 = arith.addf %76, %78 : f32
      %80 = arith.extf %72 : bf16 to f32
      %81 = arith.mulf %80, %75 : f32
      %82 = arith.addf %79, %81 : f32
      %83 = arith.addf %73, %82 : f32
      linalg.yield %83 : f32
    } -> tensor<1x4x4x16xf32>
    %84 = tensor.empty() : tensor<1x16x4x4xf32>
    %85 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<1x4x4x16xf32>) outs(%84 : tensor<1x16x4x4xf32>) {
    ^bb0(%86: f32, %87: f32):
      linalg.yield %86 : f32
    } -> tensor<1x16x4x4xf32>
    %88 = tensor.collapse_shape %85 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x4x4xf32> into tensor<16x4x4xf32>
    func.return %88 : tensor<16x4x4xf32>
  }
}
