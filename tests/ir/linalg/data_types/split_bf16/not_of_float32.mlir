// passes: choose-convolution{halves=true},pack-channels,split-bf16
// Not: sums of F(4) stay in float32, and what said so is gone.
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
    %0 = tensor.expand_shape %x [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] output_shape [3, 16, 36, 36] : tensor<48x36x36xf32> into tensor<3x16x36x36xf32>
    %1 = tensor.empty() : tensor<3x36x36x16xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%0 : tensor<3x16x36x36xf32>) outs(%1 : tensor<3x36x36x16xf32>) {
    ^bb0(%3: f32, %4: f32):
      linalg.yield %3 : f32
    } -> tensor<3x36x36x16xf32>
    %p = tensor.pad %2 low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%5: index, %6: index, %7: index, %8: index):
      %9 = arith.constant 0.000000e+00 : f32
      tensor.yield %9 : f32
    } : tensor<3x36x36x16xf32> to tensor<3x38x38x16xf32>
    %10 = ncnn.constant <[6, 6] inline "f4" "00008040000000000000a0c0000000000000803f0000000000000000000080c0000080c00000803f0000803f000000000000000000008040000080c0000080bf0000803f0000000000000000000000c0000080bf000000400000803f000000000000000000000040000080bf000000c00000803f000000000000000000008040000000000000a0c0000000000000803f"> : tensor<6x6xf32>
    %11 = ncnn.constant <[4, 6] inline "f4" "0000803f0000803f0000803f0000803f0000803f00000000000000000000803f000080bf00000040000000c000000000000000000000803f0000803f000080400000804000000000000000000000803f000080bf00000041000000c10000803f"> : tensor<4x6xf32>
    %12 = tensor.extract_slice %p[0, 0, 0, 0] [3, 14, 38, 16] [1, 1, 1, 1] : tensor<3x38x38x16xf32> to tensor<3x14x38x16xf32>
    %13 = tensor.empty() : tensor<3x6x6x3x9x16xf32>
    %14 = arith.constant 0.000000e+00 : f32
    %15 = linalg.fill ins(%14 : f32) outs(%13 : tensor<3x6x6x3x9x16xf32>) -> tensor<3x6x6x3x9x16xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d7)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%10, %10, %12 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<3x14x38x16xf32>) outs(%15 : tensor<3x6x6x3x9x16xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%17: f32, %18: f32, %19: f32, %20: f32):
      %21 = arith.mulf %18, %19 : f32
      %22 = arith.mulf %17, %21 : f32
      %23 = arith.addf %20, %22 : f32
      linalg.yield %23 : f32
    } -> tensor<3x6x6x3x9x16xf32>
    %24 = ncnn.constant <[6, 6, 3, 3, 16, 16] blocked [3, 2] 16 of <[6, 6, 48, 48] transformed [[0.25, 0.0, 0.0], [-0.16666666666666666, -0.16666666666666666, -0.16666666666666666], [-0.16666666666666666, 0.16666666666666666, -0.16666666666666666], [0.041666666666666664, 0.08333333333333333, 0.16666666666666666], [0.041666666666666664, -0.08333333333333333, 0.16666666666666666], [0.0, 0.0, 1.0]] by [[0.25, 0.0, 0.0], [-0.16666666666666666, -0.16666666666666666, -0.16666666666666666], [-0.16666666666666666, 0.16666666666666666, -0.16666666666666666], [0.041666666666666664, 0.08333333333333333, 0.16666666666666666], [0.041666666666666664, -0.08333333333333333, 0.16666666666666666], [0.0, 0.0, 1.0]] of <[48, 48, 3, 3] random 7 0 1.0 0.0>>> : tensor<6x6x3x3x16x16xf32>
    %25 = tensor.empty() : tensor<3x6x6x3x9x16xf32>
    %26 = arith.constant 0.000000e+00 : f32
    %27 = linalg.fill ins(%26 : f32) outs(%25 : tensor<3x6x6x3x9x16xf32>) -> tensor<3x6x6x3x9x16xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d5, d1, d2, d3, d4, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d2, d0, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d6)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "conv"} ins(%16, %24 : tensor<3x6x6x3x9x16xf32>, tensor<6x6x3x3x16x16xf32>) outs(%27 : tensor<3x6x6x3x9x16xf32>) {
    ^bb0(%29: f32, %30: f32, %31: f32):
      %32 = arith.mulf %29, %30 : f32
      %33 = arith.addf %31, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<3x6x6x3x9x16xf32>
    %34 = tensor.empty() : tensor<3x3x4x9x4x16xf32>
    %35 = arith.constant 0.000000e+00 : f32
    %36 = linalg.fill ins(%35 : f32) outs(%34 : tensor<3x3x4x9x4x16xf32>) -> tensor<3x3x4x9x4x16xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d5, d6, d1, d3, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d7)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%11, %11, %28 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<3x6x6x3x9x16xf32>) outs(%36 : tensor<3x3x4x9x4x16xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%38: f32, %39: f32, %40: f32, %41: f32):
      %42 = arith.mulf %39, %40 : f32
      %43 = arith.mulf %38, %42 : f32
      %44 = arith.addf %41, %43 : f32
      linalg.yield %44 : f32
    } -> tensor<3x3x4x9x4x16xf32>
    %45 = tensor.extract_slice %p[0, 12, 0, 0] [3, 14, 38, 16] [1, 1, 1, 1] : tensor<3x38x38x16xf32> to tensor<3x14x38x16xf32>
    %46 = tensor.empty() : tensor<3x6x6x3x9x16xf32>
    %47 = arith.constant 0.000000e+00 : f32
    %48 = linalg.fill ins(%47 : f32) outs(%46 : tensor<3x6x6x3x9x16xf32>) -> tensor<3x6x6x3x9x16xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d7)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%10, %10, %45 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<3x14x38x16xf32>) outs(%48 : tensor<3x6x6x3x9x16xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%50: f32, %51: f32, %52: f32, %53: f32):
      %54 = arith.mulf %51, %52 : f32
      %55 = arith.mulf %50, %54 : f32
      %56 = arith.addf %53, %55 : f32
      linalg.yield %56 : f32
    } -> tensor<3x6x6x3x9x16xf32>
    %57 = tensor.empty() : tensor<3x6x6x3x9x16xf32>
    %58 = arith.constant 0.000000e+00 : f32
    %59 = linalg.fill ins(%58 : f32) outs(%57 : tensor<3x6x6x3x9x16xf32>) -> tensor<3x6x6x3x9x16xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d5, d1, d2, d3, d4, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d2, d0, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d6)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "conv"} ins(%49, %24 : tensor<3x6x6x3x9x16xf32>, tensor<6x6x3x3x16x16xf32>) outs(%59 : tensor<3x6x6x3x9x16xf32>) {
    ^bb0(%61: f32, %62: f32, %63: f32):
      %64 = arith.mulf %61, %62 : f32
      %65 = arith.addf %63, %64 : f32
      linalg.yield %65 : f32
    } -> tensor<3x6x6x3x9x16xf32>
    %66 = tensor.empty() : tensor<3x3x4x9x4x16xf32>
    %67 = arith.constant 0.000000e+00 : f32
    %68 = linalg.fill ins(%67 : f32) outs(%66 : tensor<3x3x4x9x4x16xf32>) -> tensor<3x3x4x9x4x16xf32>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d5, d6, d1, d3, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d7)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%11, %11, %60 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<3x6x6x3x9x16xf32>) outs(%68 : tensor<3x3x4x9x4x16xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%70: f32, %71: f32, %72: f32, %73: f32):
      %74 = arith.mulf %71, %72 : f32
      %75 = arith.mulf %70, %74 : f32
      %76 = arith.addf %73, %75 : f32
      linalg.yield %76 : f32
    } -> tensor<3x3x4x9x4x16xf32>
    %77 = tensor.extract_slice %p[0, 24, 0, 0] [3, 14, 38, 16] [1, 1, 1, 1] : tensor<3x38x38x16xf32> to tensor<3x14x38x16xf32>
    %78 = tensor.empty() : tensor<3x6x6x3x9x16xf32>
    %79 = arith.constant 0.000000e+00 : f32
    %80 = linalg.fill ins(%79 : f32) outs(%78 : tensor<3x6x6x3x9x16xf32>) -> tensor<3x6x6x3x9x16xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, ((d3 * 4) + d5), ((d4 * 4) + d6), d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d7)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%10, %10, %77 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<3x14x38x16xf32>) outs(%80 : tensor<3x6x6x3x9x16xf32>) attrs =  {separable = [[[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]], [[4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -4.000000e+00 : f32, -4.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, -4.000000e+00 : f32, -1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, -2.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 2.000000e+00 : f32, -1.000000e+00 : f32, -2.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32, -5.000000e+00 : f32, 0.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%82: f32, %83: f32, %84: f32, %85: f32):
      %86 = arith.mulf %83, %84 : f32
      %87 = arith.mulf %82, %86 : f32
      %88 = arith.addf %85, %87 : f32
      linalg.yield %88 : f32
    } -> tensor<3x6x6x3x9x16xf32>
    %89 = tensor.empty() : tensor<3x6x6x3x9x16xf32>
    %90 = arith.constant 0.000000e+00 : f32
    %91 = linalg.fill ins(%90 : f32) outs(%89 : tensor<3x6x6x3x9x16xf32>) -> tensor<3x6x6x3x9x16xf32>
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d5, d1, d2, d3, d4, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d2, d0, d5, d7, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d6)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "parallel", "reduction"], doc = "conv"} ins(%81, %24 : tensor<3x6x6x3x9x16xf32>, tensor<6x6x3x3x16x16xf32>) outs(%91 : tensor<3x6x6x3x9x16xf32>) {
    ^bb0(%93: f32, %94: f32, %95: f32):
      %96 = arith.mulf %93, %94 : f32
      %97 = arith.addf %95, %96 : f32
      linalg.yield %97 : f32
    } -> tensor<3x6x6x3x9x16xf32>
    %98 = tensor.empty() : tensor<3x3x4x9x4x16xf32>
    %99 = arith.constant 0.000000e+00 : f32
    %100 = linalg.fill ins(%99 : f32) outs(%98 : tensor<3x3x4x9x4x16xf32>) -> tensor<3x3x4x9x4x16xf32>
    %101 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d4, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d5, d6, d1, d3, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d7)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "parallel"], doc = "conv"} ins(%11, %11, %92 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<3x6x6x3x9x16xf32>) outs(%100 : tensor<3x3x4x9x4x16xf32>) attrs =  {separable = [[[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]], [[1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 2.000000e+00 : f32, -2.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, 1.000000e+00 : f32, 4.000000e+00 : f32, 4.000000e+00 : f32, 0.000000e+00 : f32], [0.000000e+00 : f32, 1.000000e+00 : f32, -1.000000e+00 : f32, 8.000000e+00 : f32, -8.000000e+00 : f32, 1.000000e+00 : f32]]]} {
    ^bb0(%102: f32, %103: f32, %104: f32, %105: f32):
      %106 = arith.mulf %103, %104 : f32
      %107 = arith.mulf %102, %106 : f32
      %108 = arith.addf %105, %107 : f32
      linalg.yield %108 : f32
    } -> tensor<3x3x4x9x4x16xf32>
    %109 = tensor.concat dim(1) %37, %69, %101 : (tensor<3x3x4x9x4x16xf32>, tensor<3x3x4x9x4x16xf32>, tensor<3x3x4x9x4x16xf32>) -> tensor<3x9x4x9x4x16xf32>
    %y = tensor.collapse_shape %109 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64], [5 : i64]] : tensor<3x9x4x9x4x16xf32> into tensor<3x36x36x16xf32>
    %110 = tensor.empty() : tensor<3x16x36x36xf32>
    %111 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "layout"} ins(%y : tensor<3x36x36x16xf32>) outs(%110 : tensor<3x16x36x36xf32>) {
    ^bb0(%112: f32, %113: f32):
      linalg.yield %112 : f32
    } -> tensor<3x16x36x36xf32>
    %114 = tensor.collapse_shape %111 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<3x16x36x36xf32> into tensor<48x36x36xf32>
    func.return %114 : tensor<48x36x36xf32>
  }
}
