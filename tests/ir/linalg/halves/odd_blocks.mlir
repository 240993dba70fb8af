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
    %48 = tensor.expand_shape %42 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] output_shape [2, 2, 4, 4, 16] : tensor<4x4x4x16xf32> into tensor<2x2x4x4x16xf32>
    %49 = tensor.empty() : tensor<2x4x4x2x2x16xbf16>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%48 : tensor<2x2x4x4x16xf32>) outs(%49 : tensor<2x4x4x2x2x16xbf16>) {
    ^bb0(%51: f32, %52: bf16):
      %53 = linalg.index 3 : index
      %54 = arith.constant 0 : index
      %55 = arith.cmpi eq, %53, %54 : index
      %56 = arith.truncf %51 : f32 to bf16
      %57 = arith.extf %56 : bf16 to f32
      %58 = math.absf %57 : f32
      %59 = arith.constant 3.38953139e+38 : f32
      %60 = arith.cmpf ole, %58, %59 : f32
      %61 = arith.subf %51, %57 : f32
      %62 = arith.constant 0.000000e+00 : f32
      %63 = arith.select %60, %61, %62 : f32
      %64 = arith.truncf %63 : f32 to bf16
      %65 = arith.select %55, %56, %64 : bf16
      linalg.yield %65 : bf16
    } -> tensor<2x4x4x2x2x16xbf16>
    %66 = tensor.collapse_shape %50 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x4x4x2x2x16xbf16> into tensor<2x4x4x2x32xbf16>
    %67 = ncnn.constant <[1, 16] blocked [0] 16 of <[16] random 1 2 0.1 0.0>> : tensor<1x16xf32>
    %68 = tensor.empty() : tensor<1x4x4x16xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%67 : tensor<1x16xf32>) outs(%68 : tensor<1x4x4x16xf32>) {
    ^bb0(%70: f32, %71: f32):
      linalg.yield %70 : f32
    } -> tensor<1x4x4x16xf32>
    %72 = ncnn.constant <[1, 2, 2, 16, 16, 2] halves of <[1, 2, 16, 16, 2] blocked [2] 2 of <[1, 2, 32, 16] blocked [0] 16 of <[16, 2, 32] blocked [1] 32 of <[16, 48] random 1 1 0.05 0.0>>>>> : tensor<1x2x2x16x16x2xbf16>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%66, %72, %72, %66 : tensor<2x4x4x2x32xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<1x2x2x16x16x2xbf16>, tensor<2x4x4x2x32xbf16>) outs(%69 : tensor<1x4x4x16xf32>) {
    ^bb0(%73: bf16, %74: bf16, %75: bf16, %76: bf16, %77: f32):
      %78 = arith.extf %73 : bf16 to f32
      %79 = arith.extf %74 : bf16 to f32
      %80 = arith.mulf %78, %79 : f32
      %81 = arith.extf %75 : bf16 to f32
      %82 = arith.mulf %78, %81 : f32
      %83 = arith.addf %80, %82 : f32
      %84 = arith.extf %76 : bf16 to f32
      %85 = arith.mulf %84, %79 : f32
      %86 = arith.addf %83, %85 : f32
      %87 = arith.addf %77, %86 : f32
      linalg.yield %87 : f32
    } -> tensor<1x4x4x16xf32>
    %88 = tensor.empty() : tensor<1x16x4x4xf32>
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<1x4x4x16xf32>) outs(%88 : tensor<1x16x4x4xf32>) {
    ^bb0(%90: f32, %91: f32):
      linalg.yield %90 : f32
    } -> tensor<1x16x4x4xf32>
    %92 = tensor.collapse_shape %89 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<1x16x4x4xf32> into tensor<16x4x4xf32>
    func.return %92 : tensor<16x4x4xf32>
  }
}
