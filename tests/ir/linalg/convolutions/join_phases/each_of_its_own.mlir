// passes: join-phases
builtin.module {
  func.func @network(%x: tensor<64x8x8xf32>) -> tensor<64x16x16xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<64x8x8xf32> to tensor<64x10x10xf32>
    %5 = tensor.empty() : tensor<64x16x16xf32>
    %6 = arith.constant 0.000000e+00 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<64x16x16xf32>) -> tensor<64x16x16xf32>
    %8 = ncnn.constant <[64, 64, 4, 4] random 1 0 0.03125 0.0> : tensor<64x64x4x4xf32>
    %9 = tensor.empty() : tensor<8x8x2x2xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %9 : tensor<64x10x10xf32>, tensor<64x64x4x4xf32>, tensor<8x8x2x2xf32>) outs(%7 : tensor<64x16x16xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32, %14: f32):
      %15 = arith.mulf %11, %12 : f32
      %16 = arith.addf %14, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<64x16x16xf32>
    %17 = tensor.empty() : tensor<8x8x2x2xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %17 : tensor<64x10x10xf32>, tensor<64x64x4x4xf32>, tensor<8x8x2x2xf32>) outs(%10 : tensor<64x16x16xf32>) {
    ^bb0(%19: f32, %20: f32, %21: f32, %22: f32):
      %23 = arith.mulf %19, %20 : f32
      %24 = arith.addf %22, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<64x16x16xf32>
    %25 = tensor.empty() : tensor<8x8x2x2xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %25 : tensor<64x10x10xf32>, tensor<64x64x4x4xf32>, tensor<8x8x2x2xf32>) outs(%18 : tensor<64x16x16xf32>) {
    ^bb0(%27: f32, %28: f32, %29: f32, %30: f32):
      %31 = arith.mulf %27, %28 : f32
      %32 = arith.addf %30, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<64x16x16xf32>
    %33 = tensor.empty() : tensor<8x8x2x2xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %33 : tensor<64x10x10xf32>, tensor<64x64x4x4xf32>, tensor<8x8x2x2xf32>) outs(%26 : tensor<64x16x16xf32>) {
    ^bb0(%34: f32, %35: f32, %36: f32, %37: f32):
      %38 = arith.mulf %34, %35 : f32
      %39 = arith.addf %37, %38 : f32
      linalg.yield %39 : f32
    } -> tensor<64x16x16xf32>
    func.return %y : tensor<64x16x16xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<64x8x8xf32>) -> tensor<64x16x16xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 0, 0] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<64x8x8xf32> to tensor<64x9x9xf32>
    %5 = ncnn.constant <[64, 64, 2, 2] phases [[3, 1]], [[3, 1]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
    %6 = tensor.empty() : tensor<64x8x8xf32>
    %7 = arith.constant 0.000000e+00 : f32
    %8 = linalg.fill ins(%7 : f32) outs(%6 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %5 : tensor<64x9x9xf32>, tensor<64x64x2x2xf32>) outs(%8 : tensor<64x8x8xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32):
      %13 = arith.mulf %10, %11 : f32
      %14 = arith.addf %12, %13 : f32
      linalg.yield %14 : f32
    } -> tensor<64x8x8xf32>
    %15 = tensor.pad %x low[0, 1, 0] high[0, 0, 1] {
    ^bb0(%16: index, %17: index, %18: index):
      %19 = arith.constant 0.000000e+00 : f32
      tensor.yield %19 : f32
    } : tensor<64x8x8xf32> to tensor<64x9x9xf32>
    %20 = ncnn.constant <[64, 64, 2, 2] phases [[3, 1]], [[2, 0]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
    %21 = tensor.empty() : tensor<64x8x8xf32>
    %22 = arith.constant 0.000000e+00 : f32
    %23 = linalg.fill ins(%22 : f32) outs(%21 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%15, %20 : tensor<64x9x9xf32>, tensor<64x64x2x2xf32>) outs(%23 : tensor<64x8x8xf32>) {
    ^bb0(%25: f32, %26: f32, %27: f32):
      %28 = arith.mulf %25, %26 : f32
      %29 = arith.addf %27, %28 : f32
      linalg.yield %29 : f32
    } -> tensor<64x8x8xf32>
    %30 = tensor.pad %x low[0, 0, 1] high[0, 1, 0] {
    ^bb0(%31: index, %32: index, %33: index):
      %34 = arith.constant 0.000000e+00 : f32
      tensor.yield %34 : f32
    } : tensor<64x8x8xf32> to tensor<64x9x9xf32>
    %35 = ncnn.constant <[64, 64, 2, 2] phases [[2, 0]], [[3, 1]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
    %36 = tensor.empty() : tensor<64x8x8xf32>
    %37 = arith.constant 0.000000e+00 : f32
    %38 = linalg.fill ins(%37 : f32) outs(%36 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%30, %35 : tensor<64x9x9xf32>, tensor<64x64x2x2xf32>) outs(%38 : tensor<64x8x8xf32>) {
    ^bb0(%40: f32, %41: f32, %42: f32):
      %43 = arith.mulf %40, %41 : f32
      %44 = arith.addf %42, %43 : f32
      linalg.yield %44 : f32
    } -> tensor<64x8x8xf32>
    %45 = tensor.pad %x low[0, 0, 0] high[0, 1, 1] {
    ^bb0(%46: index, %47: index, %48: index):
      %49 = arith.constant 0.000000e+00 : f32
      tensor.yield %49 : f32
    } : tensor<64x8x8xf32> to tensor<64x9x9xf32>
    %50 = ncnn.constant <[64, 64, 2, 2] phases [[2, 0]], [[2, 0]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
    %51 = tensor.empty() : tensor<64x8x8xf32>
    %52 = arith.constant 0.000000e+00 : f32
    %53 = linalg.fill ins(%52 : f32) outs(%51 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%45, %50 : tensor<64x9x9xf32>, tensor<64x64x2x2xf32>) outs(%53 : tensor<64x8x8xf32>) {
    ^bb0(%55: f32, %56: f32, %57: f32):
      %58 = arith.mulf %55, %56 : f32
      %59 = arith.addf %57, %58 : f32
      linalg.yield %59 : f32
    } -> tensor<64x8x8xf32>
    %60 = tensor.concat dim(0) %9, %24, %39, %54 : (tensor<64x8x8xf32>, tensor<64x8x8xf32>, tensor<64x8x8xf32>, tensor<64x8x8xf32>) -> tensor<256x8x8xf32>
    %61 = tensor.expand_shape %60 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [2, 2, 64, 8, 8] : tensor<256x8x8xf32> into tensor<2x2x64x8x8xf32>
    %62 = tensor.empty() : tensor<64x8x2x8x2xf32>
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d2, d4, d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "transposed"} ins(%61 : tensor<2x2x64x8x8xf32>) outs(%62 : tensor<64x8x2x8x2xf32>) {
    ^bb0(%64: f32, %65: f32):
      linalg.yield %64 : f32
    } -> tensor<64x8x2x8x2xf32>
    %y = tensor.collapse_shape %63 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<64x8x2x8x2xf32> into tensor<64x16x16xf32>
    func.return %y : tensor<64x16x16xf32>
  }
}
