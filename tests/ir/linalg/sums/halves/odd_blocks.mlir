// passes: expand-layers,pack-channels,split-halves
// A block of zeros makes three blocks two pairs.
builtin.module {
  func.func @network() -> tensor<16x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 4 : i32, c = 48 : i32} : () -> tensor<48x4x4xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 48 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 2304 : i32, weight = #ncnn.weight<[48, 48, 1, 1] random 1 0 0.1 0.0>} : (tensor<48x4x4xf32>) -> tensor<48x4x4xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 16 : i32, kernel_w = 1 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 768 : i32, weight = #ncnn.weight<[16, 48, 1, 1] random 1 1 0.05 0.0>, bias = #ncnn.weight<[16] random 1 2 0.1 0.0>} : (tensor<48x4x4xf32>) -> tensor<16x4x4xf32>
    func.return %y : tensor<16x4x4xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<48x4x4xf32>) -> tensor<16x4x4xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 0, 0] high[16, 0, 0] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<48x4x4xf32> to tensor<64x4x4xf32>
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
    %23 = ncnn.constant <[3, 2, 2, 16, 16, 2] halves of <[3, 2, 16, 16, 2] blocked [2] 2 of <[3, 2, 32, 16] blocked [0] 16 of <[48, 2, 32] blocked [1] 32 of <[48, 48] random 1 0 0.1 0.0>>>>> : tensor<3x2x2x16x16x2xbf16>
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
    %48 = tensor.empty() : tensor<2x4x4x2x2x16xbf16>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%42 : tensor<4x4x4x16xf32>) outs(%48 : tensor<2x4x4x2x2x16xbf16>) attrs =  {halves} {
    ^bb0(%50: f32, %51: bf16):
      %52 = linalg.index 3 : index
      %53 = arith.constant 0 : index
      %54 = arith.cmpi eq, %52, %53 : index
      %55 = arith.truncf %50 : f32 to bf16
      %56 = arith.extf %55 : bf16 to f32
      %57 = math.absf %56 : f32
      %58 = arith.constant 3.38953139e+38 : f32
      %59 = arith.cmpf ole, %57, %58 : f32
      %60 = arith.subf %50, %56 : f32
      %61 = arith.constant 0.000000e+00 : f32
      %62 = arith.select %59, %60, %61 : f32
      %63 = arith.truncf %62 : f32 to bf16
      %64 = arith.select %54, %55, %63 : bf16
      linalg.yield %64 : bf16
    } -> tensor<2x4x4x2x2x16xbf16>
    %65 = tensor.collapse_shape %49 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x4x4x2x2x16xbf16> into tensor<2x4x4x2x32xbf16>
    %66 = ncnn.constant <[1, 16] blocked [0] 16 of <[16] random 1 2 0.1 0.0>> : tensor<1x16xf32>
    %67 = tensor.empty() : tensor<1x4x4x16xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%66 : tensor<1x16xf32>) outs(%67 : tensor<1x4x4x16xf32>) {
    ^bb0(%69: f32, %70: f32):
      linalg.yield %69 : f32
    } -> tensor<1x4x4x16xf32>
    %71 = ncnn.constant <[1, 2, 2, 16, 16, 2] halves of <[1, 2, 16, 16, 2] blocked [2] 2 of <[1, 2, 32, 16] blocked [0] 16 of <[16, 2, 32] blocked [1] 32 of <[16, 48] random 1 1 0.05 0.0>>>>> : tensor<1x2x2x16x16x2xbf16>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%65, %71, %71, %65 : tensor<2x4x4x2x32xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<2x4x4x2x32xbf16>) outs(%68 : tensor<1x4x4x16xf32>) {
    ^bb0(%72: bf16, %73: bf16, %74: bf16, %75: bf16, %76: f32):
      %77 = arith.extf %72 : bf16 to f32
      %78 = arith.extf %73 : bf16 to f32
      %79 = arith.mulf %77, %78 : f32
      %80 = arith.extf %74 : bf16 to f32
      %81 = arith.mulf %77, %80 : f32
      %82 = arith.addf %79, %81 : f32
      %83 = arith.extf %75 : bf16 to f32
      %84 = arith.mulf %83, %78 : f32
      %85 = arith.addf %82, %84 : f32
      %86 = arith.addf %76, %85 : f32
      linalg.yield %86 : f32
    } -> tensor<1x4x4x16xf32>
    %87 = tensor.empty() : tensor<1x16x4x4xf32>
    %88 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<1x4x4x16xf32>) outs(%87 : tensor<1x16x4x4xf32>) {
    ^bb0(%89: f32, %90: f32):
      linalg.yield %89 : f32
    } -> tensor<1x16x4x4xf32>
    %91 = tensor.collapse_shape %88 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x4x4xf32> into tensor<16x4x4xf32>
    func.return %91 : tensor<16x4x4xf32>
  }
}
