// passes: expand-layers,pack-channels,split-halves
// Data and weights in two halves each, three products a term; the 32 numbers of a step lie side by side.
builtin.module {
  func.func @network() -> tensor<32x4x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 64 : i32} : () -> tensor<64x6x6xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 64 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 4096 : i32, weight = #ncnn.weight<[64, 64, 1, 1] random 1 0 0.1 0.0>} : (tensor<64x6x6xf32>) -> tensor<64x6x6xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 32 : i32, kernel_w = 3 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 18432 : i32, weight = #ncnn.weight<[32, 64, 3, 3] random 1 1 0.05 0.0>, bias = #ncnn.weight<[32] random 1 2 0.1 0.0>} : (tensor<64x6x6xf32>) -> tensor<32x4x4xf32>
    func.return %y : tensor<32x4x4xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<64x6x6xf32>) -> tensor<32x4x4xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.expand_shape %x [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 32, 6, 6] : tensor<64x6x6xf32> into tensor<2x32x6x6xf32>
    %1 = tensor.empty() : tensor<2x6x6x2x32xbf16>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%0 : tensor<2x32x6x6xf32>) outs(%1 : tensor<2x6x6x2x32xbf16>) {
    ^bb0(%3: f32, %4: bf16):
      %5 = linalg.index 3 : index
      %6 = arith.constant 0 : index
      %7 = arith.cmpi eq, %5, %6 : index
      %8 = arith.truncf %3 : f32 to bf16
      %9 = arith.extf %8 : bf16 to f32
      %10 = arith.subf %3, %9 : f32
      %11 = arith.truncf %10 : f32 to bf16
      %12 = arith.select %7, %8, %11 : bf16
      linalg.yield %12 : bf16
    } -> tensor<2x6x6x2x32xbf16>
    %13 = ncnn.constant <[4, 2, 2, 16, 16, 2] halves of <[4, 2, 16, 16, 2] blocked [2] 2 of <[4, 2, 32, 16] blocked [0] 16 of <[64, 2, 32] blocked [1] 32 of <[64, 64] random 1 0 0.1 0.0>>>>> : tensor<4x2x2x16x16x2xbf16>
    %14 = tensor.empty() : tensor<4x6x6x16xf32>
    %15 = arith.constant 0.000000e+00 : f32
    %16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<4x6x6x16xf32>) -> tensor<4x6x6x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%2, %13, %13, %2 : tensor<2x6x6x2x32xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<2x6x6x2x32xbf16>) outs(%16 : tensor<4x6x6x16xf32>) {
    ^bb0(%17: bf16, %18: bf16, %19: bf16, %20: bf16, %21: f32):
      %22 = arith.extf %17 : bf16 to f32
      %23 = arith.extf %18 : bf16 to f32
      %24 = arith.mulf %22, %23 : f32
      %25 = arith.extf %19 : bf16 to f32
      %26 = arith.mulf %22, %25 : f32
      %27 = arith.addf %24, %26 : f32
      %28 = arith.extf %20 : bf16 to f32
      %29 = arith.mulf %28, %23 : f32
      %30 = arith.addf %27, %29 : f32
      %31 = arith.addf %21, %30 : f32
      linalg.yield %31 : f32
    } -> tensor<4x6x6x16xf32>
    %32 = tensor.empty() : tensor<2x6x6x2x2x16xbf16>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%r : tensor<4x6x6x16xf32>) outs(%32 : tensor<2x6x6x2x2x16xbf16>) attrs =  {halves} {
    ^bb0(%34: f32, %35: bf16):
      %36 = linalg.index 3 : index
      %37 = arith.constant 0 : index
      %38 = arith.cmpi eq, %36, %37 : index
      %39 = arith.truncf %34 : f32 to bf16
      %40 = arith.extf %39 : bf16 to f32
      %41 = arith.subf %34, %40 : f32
      %42 = arith.truncf %41 : f32 to bf16
      %43 = arith.select %38, %39, %42 : bf16
      linalg.yield %43 : bf16
    } -> tensor<2x6x6x2x2x16xbf16>
    %44 = tensor.collapse_shape %33 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x6x6x2x2x16xbf16> into tensor<2x6x6x2x32xbf16>
    %45 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
    %46 = tensor.empty() : tensor<2x4x4x16xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%45 : tensor<2x16xf32>) outs(%46 : tensor<2x4x4x16xf32>) {
    ^bb0(%48: f32, %49: f32):
      linalg.yield %48 : f32
    } -> tensor<2x4x4x16xf32>
    %50 = ncnn.constant <[2, 2, 3, 3, 2, 16, 16, 2] halves of <[2, 2, 3, 3, 16, 16, 2] blocked [4] 2 of <[2, 2, 3, 3, 32, 16] blocked [0] 16 of <[32, 2, 3, 3, 32] blocked [1] 32 of <[32, 64, 3, 3] random 1 1 0.05 0.0>>>>> : tensor<2x2x3x3x2x16x16x2xbf16>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), 0, ((d7 * 2) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, 0, d7, d6, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, 1, d7, d6, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), 1, ((d7 * 2) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%44, %50, %50, %44 : tensor<2x6x6x2x32xbf16>, tensor<2x2x3x3x2x16x16x2xbf16>, tensor<2x2x3x3x2x16x16x2xbf16>, tensor<2x6x6x2x32xbf16>) outs(%47 : tensor<2x4x4x16xf32>) {
    ^bb0(%51: bf16, %52: bf16, %53: bf16, %54: bf16, %55: f32):
      %56 = arith.extf %51 : bf16 to f32
      %57 = arith.extf %52 : bf16 to f32
      %58 = arith.mulf %56, %57 : f32
      %59 = arith.extf %53 : bf16 to f32
      %60 = arith.mulf %56, %59 : f32
      %61 = arith.addf %58, %60 : f32
      %62 = arith.extf %54 : bf16 to f32
      %63 = arith.mulf %62, %57 : f32
      %64 = arith.addf %61, %63 : f32
      %65 = arith.addf %55, %64 : f32
      linalg.yield %65 : f32
    } -> tensor<2x4x4x16xf32>
    %66 = tensor.empty() : tensor<2x16x4x4xf32>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<2x4x4x16xf32>) outs(%66 : tensor<2x16x4x4xf32>) {
    ^bb0(%68: f32, %69: f32):
      linalg.yield %68 : f32
    } -> tensor<2x16x4x4xf32>
    %70 = tensor.collapse_shape %67 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x4x4xf32> into tensor<32x4x4xf32>
    func.return %70 : tensor<32x4x4xf32>
  }
}
