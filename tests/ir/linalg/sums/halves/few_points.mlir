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
      %10 = arith.subf %3, %9 : f32
      %11 = arith.truncf %10 : f32 to bf16
      %12 = arith.select %7, %8, %11 : bf16
      linalg.yield %12 : bf16
    } -> tensor<2x3x3x2x32xbf16>
    %13 = ncnn.constant <[4, 2, 2, 16, 16, 2] halves of <[4, 2, 16, 16, 2] blocked [2] 2 of <[4, 2, 32, 16] blocked [0] 16 of <[64, 2, 32] blocked [1] 32 of <[64, 64] random 1 0 0.1 0.0>>>>> : tensor<4x2x2x16x16x2xbf16>
    %14 = tensor.empty() : tensor<4x3x3x16xf32>
    %15 = arith.constant 0.000000e+00 : f32
    %16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 0, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 0, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, 1, d5, d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d1, d2, 1, ((d5 * 2) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "parallel", "reduction", "reduction"], doc = "first"} ins(%2, %13, %13, %2 : tensor<2x3x3x2x32xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<4x2x2x16x16x2xbf16>, tensor<2x3x3x2x32xbf16>) outs(%16 : tensor<4x3x3x16xf32>) {
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
    } -> tensor<4x3x3x16xf32>
    %32 = ncnn.constant <[2, 16] blocked [0] 16 of <[32] random 1 2 0.1 0.0>> : tensor<2x16xf32>
    %33 = tensor.empty() : tensor<2x2x2x16xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%32 : tensor<2x16xf32>) outs(%33 : tensor<2x2x2x16xf32>) {
    ^bb0(%35: f32, %36: f32):
      linalg.yield %35 : f32
    } -> tensor<2x2x2x16xf32>
    %37 = ncnn.constant <[2, 4, 2, 2, 16, 16] blocked [1, 0] 16 of <[32, 64, 2, 2] random 1 1 0.05 0.0>> : tensor<2x4x2x2x16x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%r, %37 : tensor<4x3x3x16xf32>, tensor<2x4x2x2x16x16xf32>) outs(%34 : tensor<2x2x2x16xf32>) {
    ^bb0(%38: f32, %39: f32, %40: f32):
      %41 = arith.mulf %38, %39 : f32
      %42 = arith.addf %40, %41 : f32
      linalg.yield %42 : f32
    } -> tensor<2x2x2x16xf32>
    %43 = tensor.empty() : tensor<2x16x2x2xf32>
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<2x2x2x16xf32>) outs(%43 : tensor<2x16x2x2xf32>) {
    ^bb0(%45: f32, %46: f32):
      linalg.yield %45 : f32
    } -> tensor<2x16x2x2xf32>
    %47 = tensor.collapse_shape %44 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x2x2xf32> into tensor<32x2x2xf32>
    func.return %47 : tensor<32x2x2xf32>
  }
}
