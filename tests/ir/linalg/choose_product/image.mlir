// passes: choose-product
builtin.module {
  func.func @network(%data: tensor<256x19x14xf32>, %other: tensor<1024x19x14xf32>) -> tensor<1024x19x14xf32> attributes {outputs = ["sum"], inputs = ["data", "other"]} {
    %0 = ncnn.constant <[1024] random 1 1 0.1 0.0> : tensor<1024xf32>
    %1 = tensor.empty() : tensor<1024x19x14xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%0 : tensor<1024xf32>) outs(%1 : tensor<1024x19x14xf32>) {
    ^bb0(%3: f32, %4: f32):
      linalg.yield %3 : f32
    } -> tensor<1024x19x14xf32>
    %5 = ncnn.constant <[1024, 256, 1, 1] random 1 0 0.0625 0.0> : tensor<1024x256x1x1xf32>
    %6 = tensor.collapse_shape %5 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<1024x256x1x1xf32> into tensor<1024x256xf32>
    %pw = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%data, %6 : tensor<256x19x14xf32>, tensor<1024x256xf32>) outs(%2 : tensor<1024x19x14xf32>) {
    ^bb0(%7: f32, %8: f32, %9: f32):
      %10 = arith.mulf %7, %8 : f32
      %11 = arith.addf %9, %10 : f32
      linalg.yield %11 : f32
    } -> tensor<1024x19x14xf32>
    %12 = tensor.empty() : tensor<1024x19x14xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "add"} ins(%pw, %other : tensor<1024x19x14xf32>, tensor<1024x19x14xf32>) outs(%12 : tensor<1024x19x14xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = arith.addf %13, %14 : f32
      linalg.yield %16 : f32
    } -> tensor<1024x19x14xf32>
    func.return %sum : tensor<1024x19x14xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%data: tensor<256x19x14xf32>, %other: tensor<1024x19x14xf32>) -> tensor<1024x19x14xf32> attributes {outputs = ["sum"], inputs = ["data", "other"]} {
    %0 = tensor.pad %data low[0, 0, 0] high[0, 1, 0] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<256x19x14xf32> to tensor<256x20x14xf32>
    %5 = ncnn.constant <[1024] random 1 1 0.1 0.0> : tensor<1024xf32>
    %6 = tensor.empty() : tensor<1024x19x14xf32>
    %7 = ncnn.constant <[1024, 256, 1, 1] random 1 0 0.0625 0.0> : tensor<1024x256x1x1xf32>
    %8 = tensor.collapse_shape %7 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<1024x256x1x1xf32> into tensor<1024x256xf32>
    %9 = ncnn.constant <[512, 7, 128] quartered [[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, -1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0]] of <[1024, 256] random 1 0 0.0625 0.0>> : tensor<512x7x128xf32>
    %10 = tensor.expand_shape %0 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 128, 20, 14] : tensor<256x20x14xf32> into tensor<2x128x20x14xf32>
    %11 = ncnn.constant <[7, 2, 2] inline "f4" "0000803f0000000000000000000000000000803f000080bf000000000000803f00000000000080bf000000000000803f0000803f000080bf000080bf0000803f00000000000000000000803f00000000000080bf0000803f00000000000000000000000000000000000000000000803f"> : tensor<7x2x2xf32>
    %12 = tensor.empty() : tensor<7x128x10x14xf32>
    %13 = arith.constant 0.000000e+00 : f32
    %14 = linalg.fill ins(%13 : f32) outs(%12 : tensor<7x128x10x14xf32>) -> tensor<7x128x10x14xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d1, ((d2 * 2) + d5), d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "pw"} ins(%11, %10 : tensor<7x2x2xf32>, tensor<2x128x20x14xf32>) outs(%14 : tensor<7x128x10x14xf32>) attrs =  {combination = [[1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [1.000000e+00 : f32, -1.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32], [0.000000e+00 : f32, -1.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32], [1.000000e+00 : f32, -1.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32], [0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [-1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]} {
    ^bb0(%16: f32, %17: f32, %18: f32):
      %19 = arith.mulf %16, %17 : f32
      %20 = arith.addf %18, %19 : f32
      linalg.yield %20 : f32
    } -> tensor<7x128x10x14xf32>
    %21 = tensor.empty() : tensor<512x7x10x14xf32>
    %22 = arith.constant 0.000000e+00 : f32
    %23 = linalg.fill ins(%22 : f32) outs(%21 : tensor<512x7x10x14xf32>) -> tensor<512x7x10x14xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%15, %9 : tensor<7x128x10x14xf32>, tensor<512x7x128xf32>) outs(%23 : tensor<512x7x10x14xf32>) {
    ^bb0(%25: f32, %26: f32, %27: f32):
      %28 = arith.mulf %25, %26 : f32
      %29 = arith.addf %27, %28 : f32
      linalg.yield %29 : f32
    } -> tensor<512x7x10x14xf32>
    %30 = ncnn.constant <[2, 2, 7] inline "f4" "0000803f0000000000000000000000000000803f00000000000000000000803f0000803f0000000000000000000000000000803f0000803f0000803f0000803f0000803f0000803f0000000000000000000000000000803f0000803f0000803f00000000000000000000803f00000000"> : tensor<2x2x7xf32>
    %31 = tensor.empty() : tensor<2x512x10x2x14xf32>
    %32 = arith.constant 0.000000e+00 : f32
    %33 = linalg.fill ins(%32 : f32) outs(%31 : tensor<2x512x10x2x14xf32>) -> tensor<2x512x10x2x14xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d5, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%30, %24 : tensor<2x2x7xf32>, tensor<512x7x10x14xf32>) outs(%33 : tensor<2x512x10x2x14xf32>) attrs =  {combination = [[1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32], [1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32]], tails = [[2 : i64, 3 : i64, 19 : i64]]} {
    ^bb0(%35: f32, %36: f32, %37: f32):
      %38 = arith.mulf %35, %36 : f32
      %39 = arith.addf %37, %38 : f32
      linalg.yield %39 : f32
    } -> tensor<2x512x10x2x14xf32>
    %40 = tensor.expand_shape %5 [[0 : i64, 1 : i64]] output_shape [2, 512] : tensor<1024xf32> into tensor<2x512xf32>
    %41 = tensor.empty() : tensor<2x512x10x2x14xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "pw"} ins(%34, %40 : tensor<2x512x10x2x14xf32>, tensor<2x512xf32>) outs(%41 : tensor<2x512x10x2x14xf32>) {
    ^bb0(%43: f32, %44: f32, %45: f32):
      %46 = arith.addf %43, %44 : f32
      linalg.yield %46 : f32
    } -> tensor<2x512x10x2x14xf32>
    %47 = tensor.collapse_shape %42 [[0 : i64, 1 : i64], [2 : i64, 3 : i64], [4 : i64]] : tensor<2x512x10x2x14xf32> into tensor<1024x20x14xf32>
    %pw = tensor.extract_slice %47[0, 0, 0] [1024, 19, 14] [1, 1, 1] : tensor<1024x20x14xf32> to tensor<1024x19x14xf32>
    %48 = tensor.empty() : tensor<1024x19x14xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "add"} ins(%pw, %other : tensor<1024x19x14xf32>, tensor<1024x19x14xf32>) outs(%48 : tensor<1024x19x14xf32>) {
    ^bb0(%49: f32, %50: f32, %51: f32):
      %52 = arith.addf %49, %50 : f32
      linalg.yield %52 : f32
    } -> tensor<1024x19x14xf32>
    func.return %sum : tensor<1024x19x14xf32>
  }
}
