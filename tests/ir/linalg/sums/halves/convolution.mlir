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
      %10 = math.absf %9 : f32
      %11 = arith.constant 3.38953139e+38 : f32
      %12 = arith.cmpf ole, %10, %11 : f32
      %13 = arith.subf %3, %9 : f32
      %14 = arith.constant 0.000000e+00 : f32
      %15 = arith.select %12, %13, %14 : f32
      %16 = arith.truncf %15 : f32 to bf16
      %17 = arith.select %7, %8, %16 : bf16
      linalg.yield %17 : bf16
    } -> tensor<2x6x6x2x32xbf16>
    %18 = ncnn.constant <[4, 2, 2, 16, 16, 2] halves of <[4, 2, 16, 16, 2] blocked [2] 2 of <[4, 2, 32, 16] blocked [0] 16 of <[64, 2, 32] blocked [1] 32 of <[64, 64] random 1 0 0.1 0.0>>>>> : tensor<4x2x2x16x16x2xbf16>
    %19 = tensor.empty() : tensor<4x6x6x16xf32>
    %20 = arith.constant 0.000000e+00 : f32
    %21 = linalg.fill ins(%20 : f32) outs(%19 : tensor<4x6x6x16xf32>) -> tensor<4x6x6x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%2, %18, %18, %2 : tensor<2x6x6x2x32xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<2x6x6x2x32xbf16>) outs(%21 : tensor<4x6x6x16xf32>) {
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
    } -> tensor<4x6x6x16xf32>
    %37 = tensor.empty() : tensor<2x6x6x2x2x16xbf16>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 2) + d4), d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%r : tensor<4x6x6x16xf32>) outs(%37 : tensor<2x6x6x2x2x16xbf16>) attrs =  {halves} {
    ^bb0(%39: f32, %40: bf16):
      %41 = linalg.index 3 : index
      %42 = arith.constant 0 : index
      %43 = arith.cmpi eq, %41, %42 : index
      %44 = arith.truncf %39 : f32 to bf16
      %45 = arith.extf %44 : bf16 to f32
      %46 = math.absf %45 : f32
      %47 = arith.constant 3.38953139e+38 : f32
      %48 = arith.cmpf ole, %46, %47 : f32
      %49 = arith.subf %39, %45 : f32
      %50 = arith.constant 0.000000e+00 : f32
      %51 = arith.select %48, %49, %50 : f32
      %52 = arith.truncf %51 : f32 to bf16
      %53 = arith.select %43, %44, %52 : bf16
      linalg.yield %53 : bf16
    } -> tensor<2x6x6x2x2x16xbf16>
    %54 = tensor.collapse_shape %38 [[0 : i64], [1 : i64], [2 : i64], [3 : i64], [4 : i64, 5 : i64]] : tensor<2x6x6x2x2x16xbf16> into tensor<2x6x6x2x32xbf16>
    %55 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
    %56 = tensor.empty() : tensor<2x4x4x16xf32>
    %57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%55 : tensor<2x16xf32>) outs(%56 : tensor<2x4x4x16xf32>) {
    ^bb0(%58: f32, %59: f32):
      linalg.yield %58 : f32
    } -> tensor<2x4x4x16xf32>
    %60 = ncnn.constant <[2, 2, 3, 3, 2, 16, 16, 2] halves of <[2, 2, 3, 3, 16, 16, 2] blocked [4] 2 of <[2, 2, 3, 3, 32, 16] blocked [0] 16 of <[32, 2, 3, 3, 32] blocked [1] 32 of <[32, 64, 3, 3] random 1 1 0.05 0.0>>>>> : tensor<2x2x3x3x2x16x16x2xbf16>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), 0, ((d7 * 2) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, 0, d7, d6, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, 1, d7, d6, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), 1, ((d7 * 2) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction", "reduction"], doc = "conv"} ins(%54, %60, %60, %54 : tensor<2x6x6x2x32xbf16>, tensor<2x2x3x3x2x16x16x2xbf16>, tensor<2x2x3x3x2x16x16x2xbf16>, tensor<2x6x6x2x32xbf16>) outs(%57 : tensor<2x4x4x16xf32>) {
    ^bb0(%61: bf16, %62: bf16, %63: bf16, %64: bf16, %65: f32):
      %66 = arith.extf %61 : bf16 to f32
      %67 = arith.extf %62 : bf16 to f32
      %68 = arith.mulf %66, %67 : f32
      %69 = arith.extf %63 : bf16 to f32
      %70 = arith.mulf %66, %69 : f32
      %71 = arith.addf %68, %70 : f32
      %72 = arith.extf %64 : bf16 to f32
      %73 = arith.mulf %72, %67 : f32
      %74 = arith.addf %71, %73 : f32
      %75 = arith.addf %65, %74 : f32
      linalg.yield %75 : f32
    } -> tensor<2x4x4x16xf32>
    %76 = tensor.empty() : tensor<2x16x4x4xf32>
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<2x4x4x16xf32>) outs(%76 : tensor<2x16x4x4xf32>) {
    ^bb0(%78: f32, %79: f32):
      linalg.yield %78 : f32
    } -> tensor<2x16x4x4xf32>
    %80 = tensor.collapse_shape %77 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x4x4xf32> into tensor<32x4x4xf32>
    func.return %80 : tensor<32x4x4xf32>
  }
}
