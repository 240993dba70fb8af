// passes: choose-convolution{halves=true}
// Tiles of 48 channels compute 64: F(4) is cheaper in float32, and its sums say so.
builtin.module {
  func.func @network(%x: tensor<48x36x36xf32>) -> tensor<48x36x36xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %w = ncnn.constant <[48, 48, 3, 3] random 7 0 1.0 0.0> : tensor<48x48x3x3xf32>
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<48x36x36xf32> to tensor<48x38x38xf32>
    %0 = tensor.empty() : tensor<48x36x36xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<48x36x36xf32>) -> tensor<48x36x36xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "conv"} ins(%p, %w : tensor<48x38x38xf32>, tensor<48x48x3x3xf32>) outs(%2 : tensor<48x36x36xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<48x36x36xf32>
    func.return %y : tensor<48x36x36xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<48x36x36xf32>) -> tensor<48x36x36xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %w = ncnn.constant <[48, 48, 3, 3] random 7 0 1.0 0.0> : tensor<48x48x3x3xf32>
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.000000e+00 : f32
      tensor.yield %z : f32
    } : tensor<48x36x36xf32> to tensor<48x38x38xf32>
    %0 = tensor.empty() : tensor<48x36x36xf32>
    %1 = arith.constant 0.000000e+00 : f32
    %2 = ncnn.constant <[6, 6] inline "f4" "00008040000000000000a0c0000000000000803f0000000000000000000080c0000080c00000803f0000803f000000000000000000008040000080c0000080bf0000803f0000000000000000000000c0000080bf000000400000803f000000000000000000000040000080bf000000c00000803f000000000000000000008040000000000000a0c0000000000000803f"> : tensor<6x6xf32>
    %3 = ncnn.constant <[4, 6] inline "f4" "0000803f0000803f0000803f0000803f0000803f00000000000000000000803f000080bf00000040000000c000000000000000000000803f0000803f000080400000804000000000000000000000803f000080bf00000041000000c10000803f"> : tensor<4x6xf32>
    %4 = ncnn.constant <[6, 6, 48, 48] transformed [[0.25, 0.0, 0.0], [-0.16666666666666666, -0.16666666666666666, -0.16666666666666666], [-0.16666666666666666, 0.16666666666666666, -0.16666666666666666], [0.041666666666666664, 0.08333333333333333, 0.16666666666666666], [0.041666666666666664, -0.08333333333333333, 0.16666666666666666], [0.0, 0.0, 1.0]] by [[0.25, 0.0, 0.0], [-0.16666666666666666, -0.16666666666666666, -0.16666666666666666], [-0.16666666666666666, 0.16666666666666666, -0.16666666666666666], [0.041666666666666664, 0.08333333333333333, 0.16666666666666666], [0.041666666666666664, -0.08333333333333333, 0.16666666666666666], [0.0, 0.0, 1.0]] of <[48, 48, 3, 3] random 7 0 1.0 0.0>> : tensor<6x6x48x48xf32>
    %5 = tensor.extract_slice %p[0, 0, 0] [48, 14, 38] [1, 1, 1] : tensor<48x38x38xf32> to tensor<48x14x38xf32>
    %6 = tensor.empty() : tensor<48x6x6x3x9xf32>
    %7 = arith.constant 0.000000e+00 : f32
    %8 = linalg.fill ins(%7 : f32) outs(%6 : tensor<48x6x6x3x9xf32>) -> tensor<48x6x6x3x9xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%2, %2, %5 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<48x14x38xf32>) outs(%8 : tensor<48x6x6x3x9xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%10: f32, %11: f32, %12: f32, %13: f32):
      %14 = arith.mulf %11, %12 : f32
      %15 = arith.mulf %10, %14 : f32
      %16 = arith.addf %13, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<48x6x6x3x9xf32>
    %17 = tensor.empty() : tensor<48x6x6x3x9xf32>
    %18 = arith.constant 0.000000e+00 : f32
    %19 = linalg.fill ins(%18 : f32) outs(%17 : tensor<48x6x6x3x9xf32>) -> tensor<48x6x6x3x9xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%9, %4 : tensor<48x6x6x3x9xf32>, tensor<6x6x48x48xf32>) outs(%19 : tensor<48x6x6x3x9xf32>) attrs =  {factors = f32} {
    ^bb0(%21: f32, %22: f32, %23: f32):
      %24 = arith.mulf %21, %22 : f32
      %25 = arith.addf %23, %24 : f32
      linalg.yield %25 : f32
    } -> tensor<48x6x6x3x9xf32>
    %26 = tensor.empty() : tensor<48x3x4x9x4xf32>
    %27 = arith.constant 0.000000e+00 : f32
    %28 = linalg.fill ins(%27 : f32) outs(%26 : tensor<48x3x4x9x4xf32>) -> tensor<48x3x4x9x4xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%3, %3, %20 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<48x6x6x3x9xf32>) outs(%28 : tensor<48x3x4x9x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
      %34 = arith.mulf %31, %32 : f32
      %35 = arith.mulf %30, %34 : f32
      %36 = arith.addf %33, %35 : f32
      linalg.yield %36 : f32
    } -> tensor<48x3x4x9x4xf32>
    %37 = tensor.extract_slice %p[0, 12, 0] [48, 14, 38] [1, 1, 1] : tensor<48x38x38xf32> to tensor<48x14x38xf32>
    %38 = tensor.empty() : tensor<48x6x6x3x9xf32>
    %39 = arith.constant 0.000000e+00 : f32
    %40 = linalg.fill ins(%39 : f32) outs(%38 : tensor<48x6x6x3x9xf32>) -> tensor<48x6x6x3x9xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%2, %2, %37 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<48x14x38xf32>) outs(%40 : tensor<48x6x6x3x9xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%42: f32, %43: f32, %44: f32, %45: f32):
      %46 = arith.mulf %43, %44 : f32
      %47 = arith.mulf %42, %46 : f32
      %48 = arith.addf %45, %47 : f32
      linalg.yield %48 : f32
    } -> tensor<48x6x6x3x9xf32>
    %49 = tensor.empty() : tensor<48x6x6x3x9xf32>
    %50 = arith.constant 0.000000e+00 : f32
    %51 = linalg.fill ins(%50 : f32) outs(%49 : tensor<48x6x6x3x9xf32>) -> tensor<48x6x6x3x9xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%41, %4 : tensor<48x6x6x3x9xf32>, tensor<6x6x48x48xf32>) outs(%51 : tensor<48x6x6x3x9xf32>) attrs =  {factors = f32} {
    ^bb0(%53: f32, %54: f32, %55: f32):
      %56 = arith.mulf %53, %54 : f32
      %57 = arith.addf %55, %56 : f32
      linalg.yield %57 : f32
    } -> tensor<48x6x6x3x9xf32>
    %58 = tensor.empty() : tensor<48x3x4x9x4xf32>
    %59 = arith.constant 0.000000e+00 : f32
    %60 = linalg.fill ins(%59 : f32) outs(%58 : tensor<48x3x4x9x4xf32>) -> tensor<48x3x4x9x4xf32>
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%3, %3, %52 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<48x6x6x3x9xf32>) outs(%60 : tensor<48x3x4x9x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%62: f32, %63: f32, %64: f32, %65: f32):
      %66 = arith.mulf %63, %64 : f32
      %67 = arith.mulf %62, %66 : f32
      %68 = arith.addf %65, %67 : f32
      linalg.yield %68 : f32
    } -> tensor<48x3x4x9x4xf32>
    %69 = tensor.extract_slice %p[0, 24, 0] [48, 14, 38] [1, 1, 1] : tensor<48x38x38xf32> to tensor<48x14x38xf32>
    %70 = tensor.empty() : tensor<48x6x6x3x9xf32>
    %71 = arith.constant 0.000000e+00 : f32
    %72 = linalg.fill ins(%71 : f32) outs(%70 : tensor<48x6x6x3x9xf32>) -> tensor<48x6x6x3x9xf32>
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%2, %2, %69 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<48x14x38xf32>) outs(%72 : tensor<48x6x6x3x9xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%74: f32, %75: f32, %76: f32, %77: f32):
      %78 = arith.mulf %75, %76 : f32
      %79 = arith.mulf %74, %78 : f32
      %80 = arith.addf %77, %79 : f32
      linalg.yield %80 : f32
    } -> tensor<48x6x6x3x9xf32>
    %81 = tensor.empty() : tensor<48x6x6x3x9xf32>
    %82 = arith.constant 0.000000e+00 : f32
    %83 = linalg.fill ins(%82 : f32) outs(%81 : tensor<48x6x6x3x9xf32>) -> tensor<48x6x6x3x9xf32>
    %84 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d0, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"], doc = "conv"} ins(%73, %4 : tensor<48x6x6x3x9xf32>, tensor<6x6x48x48xf32>) outs(%83 : tensor<48x6x6x3x9xf32>) attrs =  {factors = f32} {
    ^bb0(%85: f32, %86: f32, %87: f32):
      %88 = arith.mulf %85, %86 : f32
      %89 = arith.addf %87, %88 : f32
      linalg.yield %89 : f32
    } -> tensor<48x6x6x3x9xf32>
    %90 = tensor.empty() : tensor<48x3x4x9x4xf32>
    %91 = arith.constant 0.000000e+00 : f32
    %92 = linalg.fill ins(%91 : f32) outs(%90 : tensor<48x3x4x9x4xf32>) -> tensor<48x3x4x9x4xf32>
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d5, d6, d1, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction"], doc = "conv"} ins(%3, %3, %84 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<48x6x6x3x9xf32>) outs(%92 : tensor<48x3x4x9x4xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%94: f32, %95: f32, %96: f32, %97: f32):
      %98 = arith.mulf %95, %96 : f32
      %99 = arith.mulf %94, %98 : f32
      %100 = arith.addf %97, %99 : f32
      linalg.yield %100 : f32
    } -> tensor<48x3x4x9x4xf32>
    %101 = tensor.concat dim(1) %29, %61, %93 : (tensor<48x3x4x9x4xf32>, tensor<48x3x4x9x4xf32>, tensor<48x3x4x9x4xf32>) -> tensor<48x9x4x9x4xf32>
    %y = tensor.collapse_shape %101 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<48x9x4x9x4xf32> into tensor<48x36x36xf32>
    func.return %y : tensor<48x36x36xf32>
  }
}
