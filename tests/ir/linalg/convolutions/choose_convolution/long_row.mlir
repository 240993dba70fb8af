// passes: choose-convolution
builtin.module {
  func.func @network(%x: tensor<64x1x400xf32>) -> tensor<64x1x400xf32> {
    %w = ncnn.constant <[64, 64, 7] random 7 0 1.0 0.0> : tensor<64x64x7xf32>
    %p = tensor.pad %x low[0, 0, 3] high[0, 0, 3] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<64x1x400xf32> to tensor<64x1x406xf32>
    %0 = tensor.empty() : tensor<64x1x400xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<64x1x400xf32>) -> tensor<64x1x400xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, d1, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%p, %w : tensor<64x1x406xf32>, tensor<64x64x7xf32>) outs(%2 : tensor<64x1x400xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<64x1x400xf32>
    func.return %y : tensor<64x1x400xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<64x1x400xf32>) -> tensor<64x1x400xf32> {
    %w = ncnn.constant <[64, 64, 7] random 7 0 1.0 0.0> : tensor<64x64x7xf32>
    %0 = tensor.pad %x low[0, 0, 3] high[0, 0, 4] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<64x1x400xf32> to tensor<64x1x407xf32>
    %5 = tensor.extract_slice %0[0, 0, 0] [64, 1, 406] [1, 1, 1] : tensor<64x1x407xf32> to tensor<64x1x406xf32>
    %6 = tensor.empty() : tensor<64x1x400xf32>
    %7 = arith.constant 0.000000e+00 : f32
    %8 = ncnn.constant <[1, 1] inline "f4" "0000803f"> : tensor<1x1xf32>
    %9 = ncnn.constant <[7, 7] inline "f4" "0000004000008040000020c00000a0c00000003f0000803f0000000000000000000000c00000c0c0000060c00000c03f0000803f00000000000000000000004000000040000090c0000000bf0000803f0000000000000000000080bf000020c000000000000020400000803f00000000000000000000803f0000c03f000000c00000c0bf0000803f000000000000000000008040000000000000a0c0000000000000803f00000000000000000000004000008040000020c00000a0c00000003f0000803f"> : tensor<7x7xf32>
    %10 = ncnn.constant <[1, 1] inline "f4" "0000803f"> : tensor<1x1xf32>
    %11 = ncnn.constant <[4, 7] inline "f4" "0000803f0000803f0000803f0000803f0000803f0000803f00000000000000000000803f000080bf00000040000000c0000000bf00000000000000000000803f0000803f00008040000080400000803e00000000000000000000803f000080bf00000041000000c1000000be0000803f"> : tensor<4x7xf32>
    %12 = ncnn.constant <[1, 14, 64, 64] transformed [[1.0]] by [[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [-0.1111111111111111, -0.1111111111111111, -0.1111111111111111, -0.1111111111111111, 0.0, 0.0, 0.0], [0.3333333333333333, -0.3333333333333333, 0.3333333333333333, -0.3333333333333333, 0.0, 0.0, 0.0], [0.016666666666666666, 0.03333333333333333, 0.06666666666666667, 0.13333333333333333, 0.0, 0.0, 0.0], [-0.027777777777777776, 0.05555555555555555, -0.1111111111111111, 0.2222222222222222, 0.0, 0.0, 0.0], [-0.7111111111111111, 0.35555555555555557, -0.17777777777777778, 0.08888888888888889, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, -0.1111111111111111, -0.1111111111111111, -0.1111111111111111], [0.0, 0.0, 0.0, 0.0, 0.3333333333333333, -0.3333333333333333, 0.3333333333333333], [0.0, 0.0, 0.0, 0.0, 0.016666666666666666, 0.03333333333333333, 0.06666666666666667], [0.0, 0.0, 0.0, 0.0, -0.027777777777777776, 0.05555555555555555, -0.1111111111111111], [0.0, 0.0, 0.0, 0.0, -0.7111111111111111, 0.35555555555555557, -0.17777777777777778], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]] of <[64, 64, 1, 7] random 7 0 1.0 0.0>> : tensor<1x14x64x64xf32>
    %13 = tensor.extract_slice %0[0, 0, 0] [64, 1, 207] [1, 1, 1] : tensor<64x1x407xf32> to tensor<64x1x207xf32>
    %14 = tensor.empty() : tensor<64x1x7x1x51xf32>
    %15 = arith.constant 0.000000e+00 : f32
    %16 = linalg.fill ins(%15 : f32) outs(%14 : tensor<64x1x7x1x51xf32>) -> tensor<64x1x7x1x51xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, (d3 + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%8, %9, %13 : tensor<1x1xf32>, tensor<7x7xf32>, tensor<64x1x207xf32>) outs(%16 : tensor<64x1x7x1x51xf32>) attrs =  {separable = [[[1.000000e+00 : f32]], [[2.000000e+00 : f32, 4.000000e+00 : f32, -2.500000e+00 : f32, -5.000000e+00 : f32, 5.000000e-01 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -6.000000e+00 : f32, -3.500000e+00 : f32, 1.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, 2.000000e+00 : f32, -4.500000e+00 : f32, -5.000000e-01 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -1.000000e+00 : f32, -2.500000e+00 : f32, 0.000000e+00 : f32, 2.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.500000e+00 : f32, -2.000000e+00 : f32, -1.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, 4.000000e+00 : f32, -2.500000e+00 : f32, -5.000000e+00 : f32, 5.000000e-01 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%18: f32, %19: f32, %20: f32, %21: f32):
      %22 = arith.mulf %19, %20 : f32
      %23 = arith.mulf %18, %22 : f32
      %24 = arith.addf %21, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<64x1x7x1x51xf32>
    %25 = tensor.empty() : tensor<64x1x7x1x50xf32>
    %26 = arith.constant 0.000000e+00 : f32
    %27 = linalg.fill ins(%26 : f32) outs(%25 : tensor<64x1x7x1x50xf32>) -> tensor<64x1x7x1x50xf32>
    %28 = tensor.empty() : tensor<2xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d5, d1, d2, d3, (d6 + d4))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, ((d6 * 7) + d2), d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%17, %12, %28 : tensor<64x1x7x1x51xf32>, tensor<1x14x64x64xf32>, tensor<2xf32>) outs(%27 : tensor<64x1x7x1x50xf32>) {
    ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
      %34 = arith.mulf %30, %31 : f32
      %35 = arith.addf %33, %34 : f32
      linalg.yield %35 : f32
    } -> tensor<64x1x7x1x50xf32>
    %36 = tensor.empty() : tensor<64x1x1x50x4xf32>
    %37 = arith.constant 0.000000e+00 : f32
    %38 = linalg.fill ins(%37 : f32) outs(%36 : tensor<64x1x1x50x4xf32>) -> tensor<64x1x1x50x4xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%10, %11, %29 : tensor<1x1xf32>, tensor<4x7xf32>, tensor<64x1x7x1x50xf32>) outs(%38 : tensor<64x1x1x50x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, -5.000000e-01 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 2.500000e-01 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, -1.250000e-01 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%40: f32, %41: f32, %42: f32, %43: f32):
      %44 = arith.mulf %41, %42 : f32
      %45 = arith.mulf %40, %44 : f32
      %46 = arith.addf %43, %45 : f32
      linalg.yield %46 : f32
    } -> tensor<64x1x1x50x4xf32>
    %47 = tensor.extract_slice %0[0, 0, 200] [64, 1, 207] [1, 1, 1] : tensor<64x1x407xf32> to tensor<64x1x207xf32>
    %48 = tensor.empty() : tensor<64x1x7x1x51xf32>
    %49 = arith.constant 0.000000e+00 : f32
    %50 = linalg.fill ins(%49 : f32) outs(%48 : tensor<64x1x7x1x51xf32>) -> tensor<64x1x7x1x51xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, (d3 + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%8, %9, %47 : tensor<1x1xf32>, tensor<7x7xf32>, tensor<64x1x207xf32>) outs(%50 : tensor<64x1x7x1x51xf32>) attrs =  {separable = [[[1.000000e+00 : f32]], [[2.000000e+00 : f32, 4.000000e+00 : f32, -2.500000e+00 : f32, -5.000000e+00 : f32, 5.000000e-01 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -6.000000e+00 : f32, -3.500000e+00 : f32, 1.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, 2.000000e+00 : f32, -4.500000e+00 : f32, -5.000000e-01 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -1.000000e+00 : f32, -2.500000e+00 : f32, 0.000000e+00 : f32, 2.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.500000e+00 : f32, -2.000000e+00 : f32, -1.500000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, 4.000000e+00 : f32, -2.500000e+00 : f32, -5.000000e+00 : f32, 5.000000e-01 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%52: f32, %53: f32, %54: f32, %55: f32):
      %56 = arith.mulf %53, %54 : f32
      %57 = arith.mulf %52, %56 : f32
      %58 = arith.addf %55, %57 : f32
      linalg.yield %58 : f32
    } -> tensor<64x1x7x1x51xf32>
    %59 = tensor.empty() : tensor<64x1x7x1x50xf32>
    %60 = arith.constant 0.000000e+00 : f32
    %61 = linalg.fill ins(%60 : f32) outs(%59 : tensor<64x1x7x1x50xf32>) -> tensor<64x1x7x1x50xf32>
    %62 = tensor.empty() : tensor<2xf32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d5, d1, d2, d3, (d6 + d4))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, ((d6 * 7) + d2), d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%51, %12, %62 : tensor<64x1x7x1x51xf32>, tensor<1x14x64x64xf32>, tensor<2xf32>) outs(%61 : tensor<64x1x7x1x50xf32>) {
    ^bb0(%64: f32, %65: f32, %66: f32, %67: f32):
      %68 = arith.mulf %64, %65 : f32
      %69 = arith.addf %67, %68 : f32
      linalg.yield %69 : f32
    } -> tensor<64x1x7x1x50xf32>
    %70 = tensor.empty() : tensor<64x1x1x50x4xf32>
    %71 = arith.constant 0.000000e+00 : f32
    %72 = linalg.fill ins(%71 : f32) outs(%70 : tensor<64x1x1x50x4xf32>) -> tensor<64x1x1x50x4xf32>
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "row"} ins(%10, %11, %63 : tensor<1x1xf32>, tensor<4x7xf32>, tensor<64x1x7x1x50xf32>) outs(%72 : tensor<64x1x1x50x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, -5.000000e-01 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 2.500000e-01 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, -1.250000e-01 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%74: f32, %75: f32, %76: f32, %77: f32):
      %78 = arith.mulf %75, %76 : f32
      %79 = arith.mulf %74, %78 : f32
      %80 = arith.addf %77, %79 : f32
      linalg.yield %80 : f32
    } -> tensor<64x1x1x50x4xf32>
    %81 = tensor.concat dim(3) %39, %73 : (tensor<64x1x1x50x4xf32>, tensor<64x1x1x50x4xf32>) -> tensor<64x1x1x100x4xf32>
    %y = tensor.collapse_shape %81 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<64x1x1x100x4xf32> into tensor<64x1x400xf32>
    func.return %y : tensor<64x1x400xf32>
  }
}
