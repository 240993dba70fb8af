// passes: join-groups
builtin.module {
  func.func @network(%x: tensor<40x6x7xf32>) -> (tensor<40x6x7xf32>) {
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<40x6x7xf32> to tensor<40x8x9xf32>
    %b = ncnn.constant <[5, 8] random 8 0 1.0 0.0> : tensor<5x8xf32>
    %w = ncnn.constant <[5, 8, 8, 3, 3] random 7 0 1.0 0.0> : tensor<5x8x8x3x3xf32>
    %0 = tensor.empty() : tensor<5x8x6x7xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%b : tensor<5x8xf32>) outs(%0 : tensor<5x8x6x7xf32>) {
    ^bb1(%2: f32, %3: f32):
      linalg.yield %2 : f32
    } -> tensor<5x8x6x7xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 8 + d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%p, %w : tensor<40x8x9xf32>, tensor<5x8x8x3x3xf32>) outs(%1 : tensor<5x8x6x7xf32>) {
    ^bb2(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.addf %6, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<5x8x6x7xf32>
    %z = tensor.collapse_shape %y [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<5x8x6x7xf32> into tensor<40x6x7xf32>
    %s = ncnn.constant <[40] random 9 0 1.0 0.0> : tensor<40xf32>
    %e = tensor.empty() : tensor<40x6x7xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z, %s : tensor<40x6x7xf32>, tensor<40xf32>) outs(%e : tensor<40x6x7xf32>) {
    ^bb3(%9: f32, %10: f32, %11: f32):
      %12 = arith.mulf %9, %10 : f32
      linalg.yield %12 : f32
    } -> tensor<40x6x7xf32>
    func.return %r : tensor<40x6x7xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<40x6x7xf32>) -> tensor<40x6x7xf32> {
    %0 = tensor.extract_slice %x[0, 0, 0] [32, 6, 7] [1, 1, 1] : tensor<40x6x7xf32> to tensor<32x6x7xf32>
    %1 = tensor.pad %0 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<32x6x7xf32> to tensor<32x8x9xf32>
    %6 = ncnn.constant <[2, 16, 16, 3, 3] joined 2 of <[4, 8, 8, 3, 3] taken 0 [0, 1, 2, 3] of <[5, 8, 8, 3, 3] random 7 0 1.0 0.0>>> : tensor<2x16x16x3x3xf32>
    %7 = ncnn.constant <[4, 8] taken 0 [0, 1, 2, 3] of <[5, 8] random 8 0 1.0 0.0>> : tensor<4x8xf32>
    %8 = tensor.collapse_shape %7 [[0 : i64, 1 : i64]] : tensor<4x8xf32> into tensor<32xf32>
    %9 = tensor.expand_shape %8 [[0 : i64, 1 : i64]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
    %10 = tensor.empty() : tensor<2x16x6x7xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%9 : tensor<2x16xf32>) outs(%10 : tensor<2x16x6x7xf32>) {
    ^bb0(%12: f32, %13: f32):
      linalg.yield %12 : f32
    } -> tensor<2x16x6x7xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (((d0 * 16) + d4), (d2 + d5), (d3 + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%1, %6 : tensor<32x8x9xf32>, tensor<2x16x16x3x3xf32>) outs(%11 : tensor<2x16x6x7xf32>) {
    ^bb0(%15: f32, %16: f32, %17: f32):
      %18 = arith.mulf %15, %16 : f32
      %19 = arith.addf %17, %18 : f32
      linalg.yield %19 : f32
    } -> tensor<2x16x6x7xf32>
    %20 = tensor.collapse_shape %14 [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x16x6x7xf32> into tensor<32x6x7xf32>
    %21 = tensor.extract_slice %x[32, 0, 0] [8, 6, 7] [1, 1, 1] : tensor<40x6x7xf32> to tensor<8x6x7xf32>
    %22 = tensor.pad %21 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%23: index, %24: index, %25: index):
      %26 = arith.constant 0.000000e+00 : f32
      tensor.yield %26 : f32
    } : tensor<8x6x7xf32> to tensor<8x8x9xf32>
    %27 = ncnn.constant <[1, 8, 8, 3, 3] joined 1 of <[1, 8, 8, 3, 3] taken 0 [4] of <[5, 8, 8, 3, 3] random 7 0 1.0 0.0>>> : tensor<1x8x8x3x3xf32>
    %28 = tensor.collapse_shape %27 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<1x8x8x3x3xf32> into tensor<8x8x3x3xf32>
    %29 = ncnn.constant <[1, 8] taken 0 [4] of <[5, 8] random 8 0 1.0 0.0>> : tensor<1x8xf32>
    %30 = tensor.collapse_shape %29 [[0 : i64, 1 : i64]] : tensor<1x8xf32> into tensor<8xf32>
    %31 = tensor.empty() : tensor<8x6x7xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "groups"} ins(%30 : tensor<8xf32>) outs(%31 : tensor<8x6x7xf32>) {
    ^bb0(%33: f32, %34: f32):
      linalg.yield %33 : f32
    } -> tensor<8x6x7xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%22, %28 : tensor<8x8x9xf32>, tensor<8x8x3x3xf32>) outs(%32 : tensor<8x6x7xf32>) {
    ^bb0(%36: f32, %37: f32, %38: f32):
      %39 = arith.mulf %36, %37 : f32
      %40 = arith.addf %38, %39 : f32
      linalg.yield %40 : f32
    } -> tensor<8x6x7xf32>
    %z = tensor.concat dim(0) %20, %35 : (tensor<32x6x7xf32>, tensor<8x6x7xf32>) -> tensor<40x6x7xf32>
    %s = ncnn.constant <[40] random 9 0 1.0 0.0> : tensor<40xf32>
    %e = tensor.empty() : tensor<40x6x7xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z, %s : tensor<40x6x7xf32>, tensor<40xf32>) outs(%e : tensor<40x6x7xf32>) {
    ^bb0(%41: f32, %42: f32, %43: f32):
      %44 = arith.mulf %41, %42 : f32
      linalg.yield %44 : f32
    } -> tensor<40x6x7xf32>
    func.return %r : tensor<40x6x7xf32>
  }
}
