// passes: expand-layers,pack-channels,split-halves
// Not the second one: four points leave most of a tile empty.
builtin.module {
  func.func @network() -> tensor<32x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 3 : i32, h = 3 : i32, c = 64 : i32} : () -> tensor<64x3x3xf32>
    %r = ncnn.Convolution(%x) {layer = "first", blobs = ["r"], line = 4 : i32, num_output = 64 : i32, kernel_w = 1 : i32, bias_term = 0 : i32, weight_data_size = 4096 : i32, weight = #ncnn.weight<[64, 64, 1, 1] random 1 0 0.1 0.0>} : (tensor<64x3x3xf32>) -> tensor<64x3x3xf32>
    %y = ncnn.Convolution(%r) {layer = "conv", blobs = ["y"], line = 5 : i32, num_output = 32 : i32, kernel_w = 2 : i32, stride_w = 1 : i32, bias_term = 1 : i32, weight_data_size = 8192 : i32, weight = #ncnn.weight<[32, 64, 2, 2] random 1 1 0.05 0.0>, bias = #ncnn.weight<[32] random 1 2 0.1 0.0>} : (tensor<64x3x3xf32>) -> tensor<32x2x2xf32>
    func.return %y : tensor<32x2x2xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<64x3x3xf32>) -> tensor<32x2x2xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.expand_shape %x [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 32, 3, 3] : tensor<64x3x3xf32> into tensor<2x32x3x3xf32>
    %1 = tensor.empty() : tensor<2x3x3x2x32xbf16>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "halves"} ins(%0 : tensor<2x32x3x3xf32>) outs(%1 : tensor<2x3x3x2x32xbf16>) {
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
    } -> tensor<2x3x3x2x32xbf16>
    %18 = ncnn.constant <[4, 2, 2, 16, 16, 2] halves of <[4, 2, 16, 16, 2] blocked [2] 2 of <[4, 2, 32, 16] blocked [0] 16 of <[64, 2, 32] blocked [1] 32 of <[64, 64] random 1 0 0.1 0.0>>>>> : tensor<4x2x2x16x16x2xbf16>
    %19 = tensor.empty() : tensor<4x3x3x16xf32>
    %20 = arith.constant 0.000000e+00 : f32
    %21 = linalg.fill ins(%20 : f32) outs(%19 : tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%2, %18, %18, %2 : tensor<2x3x3x2x32xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<2x3x3x2x32xbf16>) outs(%21 : tensor<4x3x3x16xf32>) {
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
    } -> tensor<4x3x3x16xf32>
    %37 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
    %38 = tensor.empty() : tensor<2x2x2x16xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%37 : tensor<2x16xf32>) outs(%38 : tensor<2x2x2x16xf32>) {
    ^bb0(%40: f32, %41: f32):
      linalg.yield %40 : f32
    } -> tensor<2x2x2x16xf32>
    %42 = ncnn.constant <[2, 4, 2, 2, 16, 16] blocked [1, 0] 16 of <[32, 64, 2, 2] random 1 1 0.05 0.0>> : tensor<2x4x2x2x16x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%r, %42 : tensor<4x3x3x16xf32>, tensor<2x4x2x2x16x16xf32>) outs(%39 : tensor<2x2x2x16xf32>) {
    ^bb0(%43: f32, %44: f32, %45: f32):
      %46 = arith.mulf %43, %44 : f32
      %47 = arith.addf %45, %46 : f32
      linalg.yield %47 : f32
    } -> tensor<2x2x2x16xf32>
    %48 = tensor.empty() : tensor<2x16x2x2xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<2x2x2x16xf32>) outs(%48 : tensor<2x16x2x2xf32>) {
    ^bb0(%50: f32, %51: f32):
      linalg.yield %50 : f32
    } -> tensor<2x16x2x2xf32>
    %52 = tensor.collapse_shape %49 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x2x2xf32> into tensor<32x2x2xf32>
    func.return %52 : tensor<32x2x2xf32>
  }
}
