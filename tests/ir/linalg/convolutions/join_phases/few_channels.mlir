// passes: join-phases
builtin.module {
  func.func @network(%x: tensor<2x3x4xf32>) -> tensor<3x6x8xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<2x3x4xf32> to tensor<2x5x6xf32>
    %5 = ncnn.constant <[3] random 7 1 0.1 0.0> : tensor<3xf32>
    %6 = tensor.empty() : tensor<3x6x8xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%5 : tensor<3xf32>) outs(%6 : tensor<3x6x8xf32>) {
    ^bb0(%8: f32, %9: f32):
      linalg.yield %8 : f32
    } -> tensor<3x6x8xf32>
    %10 = ncnn.constant <[3, 2, 4, 4] random 7 0 0.17677669529663687 0.0> : tensor<3x2x4x4xf32>
    %11 = tensor.empty() : tensor<3x4x2x2xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %11 : tensor<2x5x6xf32>, tensor<3x2x4x4xf32>, tensor<3x4x2x2xf32>) outs(%7 : tensor<3x6x8xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32, %16: f32):
      %17 = arith.mulf %13, %14 : f32
      %18 = arith.addf %16, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<3x6x8xf32>
    %19 = tensor.empty() : tensor<3x4x2x2xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %19 : tensor<2x5x6xf32>, tensor<3x2x4x4xf32>, tensor<3x4x2x2xf32>) outs(%12 : tensor<3x6x8xf32>) {
    ^bb0(%21: f32, %22: f32, %23: f32, %24: f32):
      %25 = arith.mulf %21, %22 : f32
      %26 = arith.addf %24, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<3x6x8xf32>
    %27 = tensor.empty() : tensor<3x4x2x2xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %27 : tensor<2x5x6xf32>, tensor<3x2x4x4xf32>, tensor<3x4x2x2xf32>) outs(%20 : tensor<3x6x8xf32>) {
    ^bb0(%29: f32, %30: f32, %31: f32, %32: f32):
      %33 = arith.mulf %29, %30 : f32
      %34 = arith.addf %32, %33 : f32
      linalg.yield %34 : f32
    } -> tensor<3x6x8xf32>
    %35 = tensor.empty() : tensor<3x4x2x2xf32>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %35 : tensor<2x5x6xf32>, tensor<3x2x4x4xf32>, tensor<3x4x2x2xf32>) outs(%28 : tensor<3x6x8xf32>) {
    ^bb0(%37: f32, %38: f32, %39: f32, %40: f32):
      %41 = arith.mulf %37, %38 : f32
      %42 = arith.addf %40, %41 : f32
      linalg.yield %42 : f32
    } -> tensor<3x6x8xf32>
    %43 = tensor.empty() : tensor<3x6x8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%36 : tensor<3x6x8xf32>) outs(%43 : tensor<3x6x8xf32>) {
    ^bb0(%44: f32, %45: f32):
      %46 = arith.constant 0.000000e+00 : f32
      %47 = arith.maxnumf %44, %46 : f32
      linalg.yield %47 : f32
    } -> tensor<3x6x8xf32>
    func.return %y : tensor<3x6x8xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<2x3x4xf32>) -> tensor<3x6x8xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<2x3x4xf32> to tensor<2x5x6xf32>
    %5 = ncnn.constant <[12, 2, 2, 2] phases [[2, 0], [3, 1]], [[2, 0], [3, 1]] of <[3, 2, 4, 4] random 7 0 0.17677669529663687 0.0>> : tensor<12x2x2x2xf32>
    %6 = ncnn.constant <[12] taken 0 [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2] of <[3] random 7 1 0.1 0.0>> : tensor<12xf32>
    %7 = tensor.empty() : tensor<12x4x5xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%6 : tensor<12xf32>) outs(%7 : tensor<12x4x5xf32>) {
    ^bb0(%9: f32, %10: f32):
      linalg.yield %9 : f32
    } -> tensor<12x4x5xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %5 : tensor<2x5x6xf32>, tensor<12x2x2x2xf32>) outs(%8 : tensor<12x4x5xf32>) {
    ^bb0(%12: f32, %13: f32, %14: f32):
      %15 = arith.mulf %12, %13 : f32
      %16 = arith.addf %14, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<12x4x5xf32>
    %17 = tensor.empty() : tensor<12x4x5xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%11 : tensor<12x4x5xf32>) outs(%17 : tensor<12x4x5xf32>) {
    ^bb0(%19: f32, %20: f32):
      %21 = arith.constant 0.000000e+00 : f32
      %22 = arith.maxnumf %19, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<12x4x5xf32>
    %23 = tensor.expand_shape %18 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [3, 2, 2, 4, 5] : tensor<12x4x5xf32> into tensor<3x2x2x4x5xf32>
    %24 = tensor.empty() : tensor<3x4x2x5x2xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "transposed"} ins(%23 : tensor<3x2x2x4x5xf32>) outs(%24 : tensor<3x4x2x5x2xf32>) {
    ^bb0(%26: f32, %27: f32):
      linalg.yield %26 : f32
    } -> tensor<3x4x2x5x2xf32>
    %28 = tensor.collapse_shape %25 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<3x4x2x5x2xf32> into tensor<3x8x10xf32>
    %y = tensor.extract_slice %28[0, 1, 1] [3, 6, 8] [1, 1, 1] : tensor<3x8x10xf32> to tensor<3x6x8xf32>
    func.return %y : tensor<3x6x8xf32>
  }
}
