// passes: choose-product
builtin.module {
  func.func @network(%data: tensor<512x14x14xf32>) -> tensor<512x14x14xf32> attributes {outputs = ["pw"], inputs = ["data"]} {
    %0 = tensor.pad %data low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<512x14x14xf32> to tensor<512x16x16xf32>
    %5 = ncnn.constant <[512] random 1 1 0.1 0.0> : tensor<512xf32>
    %6 = tensor.empty() : tensor<512x14x14xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "dw"} ins(%5 : tensor<512xf32>) outs(%6 : tensor<512x14x14xf32>) {
    ^bb0(%8: f32, %9: f32):
      linalg.yield %8 : f32
    } -> tensor<512x14x14xf32>
    %10 = ncnn.constant <[512, 1, 1, 3, 3] random 1 0 0.3333333333333333 0.0> : tensor<512x1x1x3x3xf32>
    %11 = tensor.collapse_shape %10 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] : tensor<512x1x1x3x3xf32> into tensor<512x3x3xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 + d3), (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "dw"} ins(%0, %11 : tensor<512x16x16xf32>, tensor<512x3x3xf32>) outs(%7 : tensor<512x14x14xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = arith.mulf %13, %14 : f32
      %17 = arith.addf %15, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<512x14x14xf32>
    %18 = tensor.empty() : tensor<512x14x14xf32>
    %dw = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "dw"} ins(%12 : tensor<512x14x14xf32>) outs(%18 : tensor<512x14x14xf32>) {
    ^bb0(%19: f32, %20: f32):
      %21 = arith.constant 0.000000e+00 : f32
      %22 = arith.maxnumf %19, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<512x14x14xf32>
    %23 = ncnn.constant <[512] random 1 3 0.1 0.0> : tensor<512xf32>
    %24 = tensor.empty() : tensor<512x14x14xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%23 : tensor<512xf32>) outs(%24 : tensor<512x14x14xf32>) {
    ^bb0(%26: f32, %27: f32):
      linalg.yield %26 : f32
    } -> tensor<512x14x14xf32>
    %28 = ncnn.constant <[512, 512, 1, 1] random 1 2 0.044194173824159216 0.0> : tensor<512x512x1x1xf32>
    %29 = tensor.collapse_shape %28 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<512x512x1x1xf32> into tensor<512x512xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%dw, %29 : tensor<512x14x14xf32>, tensor<512x512xf32>) outs(%25 : tensor<512x14x14xf32>) {
    ^bb0(%31: f32, %32: f32, %33: f32):
      %34 = arith.mulf %31, %32 : f32
      %35 = arith.addf %33, %34 : f32
      linalg.yield %35 : f32
    } -> tensor<512x14x14xf32>
    %36 = tensor.empty() : tensor<512x14x14xf32>
    %pw = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%30 : tensor<512x14x14xf32>) outs(%36 : tensor<512x14x14xf32>) {
    ^bb0(%37: f32, %38: f32):
      %39 = arith.constant 0.000000e+00 : f32
      %40 = arith.maxnumf %37, %39 : f32
      linalg.yield %40 : f32
    } -> tensor<512x14x14xf32>
    func.return %pw : tensor<512x14x14xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%data: tensor<512x14x14xf32>) -> tensor<512x14x14xf32> attributes {outputs = ["pw"], inputs = ["data"]} {
    %0 = tensor.pad %data low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<512x14x14xf32> to tensor<512x16x16xf32>
    %5 = ncnn.constant <[512] random 1 1 0.1 0.0> : tensor<512xf32>
    %6 = tensor.empty() : tensor<512x14x14xf32>
    %7 = ncnn.constant <[512, 1, 1, 3, 3] random 1 0 0.3333333333333333 0.0> : tensor<512x1x1x3x3xf32>
    %8 = tensor.collapse_shape %7 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] : tensor<512x1x1x3x3xf32> into tensor<512x3x3xf32>
    %9 = ncnn.constant <[512] random 1 3 0.1 0.0> : tensor<512xf32>
    %10 = tensor.empty() : tensor<512x14x14xf32>
    %11 = ncnn.constant <[512, 512, 1, 1] random 1 2 0.044194173824159216 0.0> : tensor<512x512x1x1xf32>
    %12 = tensor.collapse_shape %11 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<512x512x1x1xf32> into tensor<512x512xf32>
    %13 = ncnn.constant <[256, 7, 256] quartered [[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, -1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0]] of <[512, 512] random 1 2 0.044194173824159216 0.0>> : tensor<256x7x256xf32>
    %14 = tensor.expand_shape %0 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 256, 16, 16] : tensor<512x16x16xf32> into tensor<2x256x16x16xf32>
    %15 = tensor.expand_shape %8 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [2, 256, 3, 3] : tensor<512x3x3xf32> into tensor<2x256x3x3xf32>
    %16 = tensor.expand_shape %5 [[0 : i64, 1 : i64]] output_shape [2, 256] : tensor<512xf32> into tensor<2x256xf32>
    %17 = tensor.empty() : tensor<256x2x7x2x14xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "dw"} ins(%16 : tensor<2x256xf32>) outs(%17 : tensor<256x2x7x2x14xf32>) {
    ^bb0(%19: f32, %20: f32):
      linalg.yield %19 : f32
    } -> tensor<256x2x7x2x14xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d0, (((d2 * 2) + d3) + d5), (d4 + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d0, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "dw"} ins(%14, %15 : tensor<2x256x16x16xf32>, tensor<2x256x3x3xf32>) outs(%18 : tensor<256x2x7x2x14xf32>) {
    ^bb0(%22: f32, %23: f32, %24: f32):
      %25 = arith.mulf %22, %23 : f32
      %26 = arith.addf %24, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<256x2x7x2x14xf32>
    %27 = tensor.empty() : tensor<256x2x7x2x14xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "dw"} ins(%21 : tensor<256x2x7x2x14xf32>) outs(%27 : tensor<256x2x7x2x14xf32>) {
    ^bb0(%29: f32, %30: f32):
      %31 = arith.constant 0.000000e+00 : f32
      %32 = arith.maxnumf %29, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<256x2x7x2x14xf32>
    %33 = ncnn.constant <[7, 2, 2] inline "f4" "0000803f0000000000000000000000000000803f000080bf000000000000803f00000000000080bf000000000000803f0000803f000080bf000080bf0000803f00000000000000000000803f00000000000080bf0000803f00000000000000000000000000000000000000000000803f"> : tensor<7x2x2xf32>
    %34 = tensor.empty() : tensor<7x256x7x14xf32>
    %35 = arith.constant 0.000000e+00 : f32
    %36 = linalg.fill ins(%35 : f32) outs(%34 : tensor<7x256x7x14xf32>) -> tensor<7x256x7x14xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d2, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "pw"} ins(%33, %28 : tensor<7x2x2xf32>, tensor<256x2x7x2x14xf32>) outs(%36 : tensor<7x256x7x14xf32>) attrs =  {combination = [[1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [1.000000e+00 : f32, -1.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32], [0.000000e+00 : f32, -1.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32], [1.000000e+00 : f32, -1.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32], [0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [-1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]} {
    ^bb0(%38: f32, %39: f32, %40: f32):
      %41 = arith.mulf %38, %39 : f32
      %42 = arith.addf %40, %41 : f32
      linalg.yield %42 : f32
    } -> tensor<7x256x7x14xf32>
    %43 = tensor.empty() : tensor<256x7x7x14xf32>
    %44 = arith.constant 0.000000e+00 : f32
    %45 = linalg.fill ins(%44 : f32) outs(%43 : tensor<256x7x7x14xf32>) -> tensor<256x7x7x14xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%37, %13 : tensor<7x256x7x14xf32>, tensor<256x7x256xf32>) outs(%45 : tensor<256x7x7x14xf32>) {
    ^bb0(%47: f32, %48: f32, %49: f32):
      %50 = arith.mulf %47, %48 : f32
      %51 = arith.addf %49, %50 : f32
      linalg.yield %51 : f32
    } -> tensor<256x7x7x14xf32>
    %52 = ncnn.constant <[2, 2, 7] inline "f4" "0000803f0000000000000000000000000000803f00000000000000000000803f0000803f0000000000000000000000000000803f0000803f0000803f0000803f0000803f0000803f0000000000000000000000000000803f0000803f0000803f00000000000000000000803f00000000"> : tensor<2x2x7xf32>
    %53 = tensor.empty() : tensor<2x256x7x2x14xf32>
    %54 = arith.constant 0.000000e+00 : f32
    %55 = linalg.fill ins(%54 : f32) outs(%53 : tensor<2x256x7x2x14xf32>) -> tensor<2x256x7x2x14xf32>
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d5, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%52, %46 : tensor<2x2x7xf32>, tensor<256x7x7x14xf32>) outs(%55 : tensor<2x256x7x2x14xf32>) attrs =  {combination = [[1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32], [1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32], [1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32]]} {
    ^bb0(%57: f32, %58: f32, %59: f32):
      %60 = arith.mulf %57, %58 : f32
      %61 = arith.addf %59, %60 : f32
      linalg.yield %61 : f32
    } -> tensor<2x256x7x2x14xf32>
    %62 = tensor.expand_shape %9 [[0 : i64, 1 : i64]] output_shape [2, 256] : tensor<512xf32> into tensor<2x256xf32>
    %63 = tensor.empty() : tensor<2x256x7x2x14xf32>
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "pw"} ins(%56, %62 : tensor<2x256x7x2x14xf32>, tensor<2x256xf32>) outs(%63 : tensor<2x256x7x2x14xf32>) {
    ^bb0(%65: f32, %66: f32, %67: f32):
      %68 = arith.addf %65, %66 : f32
      linalg.yield %68 : f32
    } -> tensor<2x256x7x2x14xf32>
    %69 = tensor.empty() : tensor<2x256x7x2x14xf32>
    %70 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "pw"} ins(%64 : tensor<2x256x7x2x14xf32>) outs(%69 : tensor<2x256x7x2x14xf32>) {
    ^bb0(%71: f32, %72: f32):
      %73 = arith.constant 0.000000e+00 : f32
      %74 = arith.maxnumf %71, %73 : f32
      linalg.yield %74 : f32
    } -> tensor<2x256x7x2x14xf32>
    %pw = tensor.collapse_shape %70 [[0 : i64, 1 : i64], [2 : i64, 3 : i64], [4 : i64]] : tensor<2x256x7x2x14xf32> into tensor<512x14x14xf32>
    func.return %pw : tensor<512x14x14xf32>
  }
}
