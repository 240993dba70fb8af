// passes: separate-groups
builtin.module {
  func.func @network(%x: tensor<48x28x30xf32>) -> (tensor<48x28x30xf32>) {
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<48x28x30xf32> to tensor<48x30x32xf32>
    %b = ncnn.constant <[2, 24] random 8 0 1.0 0.0> : tensor<2x24xf32>
    %w = ncnn.constant <[2, 24, 24, 3, 3] random 7 0 1.0 0.0> : tensor<2x24x24x3x3xf32>
    %0 = tensor.empty() : tensor<2x24x28x30xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%b : tensor<2x24xf32>) outs(%0 : tensor<2x24x28x30xf32>) {
    ^bb1(%2: f32, %3: f32):
      linalg.yield %2 : f32
    } -> tensor<2x24x28x30xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 24 + d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%p, %w : tensor<48x30x32xf32>, tensor<2x24x24x3x3xf32>) outs(%1 : tensor<2x24x28x30xf32>) {
    ^bb2(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.addf %6, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<2x24x28x30xf32>
    %z = tensor.collapse_shape %y [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<2x24x28x30xf32> into tensor<48x28x30xf32>
    %s = ncnn.constant <[48] random 9 0 1.0 0.0> : tensor<48xf32>
    %e = tensor.empty() : tensor<48x28x30xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z, %s : tensor<48x28x30xf32>, tensor<48xf32>) outs(%e : tensor<48x28x30xf32>) {
    ^bb3(%9: f32, %10: f32, %11: f32):
      %12 = arith.mulf %9, %10 : f32
      linalg.yield %12 : f32
    } -> tensor<48x28x30xf32>
    func.return %r : tensor<48x28x30xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<48x28x30xf32>) -> tensor<48x28x30xf32> {
    %0 = ncnn.constant <[1, 24] taken 0 [0] of <[2, 24] random 8 0 1.0 0.0>> : tensor<1x24xf32>
    %1 = tensor.collapse_shape %0 [[0 : i64, 1 : i64]] : tensor<1x24xf32> into tensor<24xf32>
    %2 = tensor.empty() : tensor<24x28x30xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "groups"} ins(%1 : tensor<24xf32>) outs(%2 : tensor<24x28x30xf32>) {
    ^bb0(%4: f32, %5: f32):
      linalg.yield %4 : f32
    } -> tensor<24x28x30xf32>
    %6 = tensor.extract_slice %x[0, 0, 0] [24, 28, 30] [1, 1, 1] : tensor<48x28x30xf32> to tensor<24x28x30xf32>
    %7 = tensor.pad %6 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%8: index, %9: index, %10: index):
      %11 = arith.constant 0.000000e+00 : f32
      tensor.yield %11 : f32
    } : tensor<24x28x30xf32> to tensor<24x30x32xf32>
    %12 = ncnn.constant <[1, 24, 24, 3, 3] taken 0 [0] of <[2, 24, 24, 3, 3] random 7 0 1.0 0.0>> : tensor<1x24x24x3x3xf32>
    %13 = tensor.collapse_shape %12 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<1x24x24x3x3xf32> into tensor<24x24x3x3xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%7, %13 : tensor<24x30x32xf32>, tensor<24x24x3x3xf32>) outs(%3 : tensor<24x28x30xf32>) {
    ^bb0(%15: f32, %16: f32, %17: f32):
      %18 = arith.mulf %15, %16 : f32
      %19 = arith.addf %17, %18 : f32
      linalg.yield %19 : f32
    } -> tensor<24x28x30xf32>
    %20 = ncnn.constant <[24] taken 0 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23] of <[48] random 9 0 1.0 0.0>> : tensor<24xf32>
    %21 = tensor.empty() : tensor<24x28x30xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%14, %20 : tensor<24x28x30xf32>, tensor<24xf32>) outs(%21 : tensor<24x28x30xf32>) {
    ^bb0(%23: f32, %24: f32, %25: f32):
      %26 = arith.mulf %23, %24 : f32
      linalg.yield %26 : f32
    } -> tensor<24x28x30xf32>
    %27 = ncnn.constant <[1, 24] taken 0 [1] of <[2, 24] random 8 0 1.0 0.0>> : tensor<1x24xf32>
    %28 = tensor.collapse_shape %27 [[0 : i64, 1 : i64]] : tensor<1x24xf32> into tensor<24xf32>
    %29 = tensor.empty() : tensor<24x28x30xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "groups"} ins(%28 : tensor<24xf32>) outs(%29 : tensor<24x28x30xf32>) {
    ^bb0(%31: f32, %32: f32):
      linalg.yield %31 : f32
    } -> tensor<24x28x30xf32>
    %33 = tensor.extract_slice %x[24, 0, 0] [24, 28, 30] [1, 1, 1] : tensor<48x28x30xf32> to tensor<24x28x30xf32>
    %34 = tensor.pad %33 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%35: index, %36: index, %37: index):
      %38 = arith.constant 0.000000e+00 : f32
      tensor.yield %38 : f32
    } : tensor<24x28x30xf32> to tensor<24x30x32xf32>
    %39 = ncnn.constant <[1, 24, 24, 3, 3] taken 0 [1] of <[2, 24, 24, 3, 3] random 7 0 1.0 0.0>> : tensor<1x24x24x3x3xf32>
    %40 = tensor.collapse_shape %39 [[0 : i64, 1 : i64], [2 : i64], [3 : i64], [4 : i64]] : tensor<1x24x24x3x3xf32> into tensor<24x24x3x3xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%34, %40 : tensor<24x30x32xf32>, tensor<24x24x3x3xf32>) outs(%30 : tensor<24x28x30xf32>) {
    ^bb0(%42: f32, %43: f32, %44: f32):
      %45 = arith.mulf %42, %43 : f32
      %46 = arith.addf %44, %45 : f32
      linalg.yield %46 : f32
    } -> tensor<24x28x30xf32>
    %47 = ncnn.constant <[24] taken 0 [24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47] of <[48] random 9 0 1.0 0.0>> : tensor<24xf32>
    %48 = tensor.empty() : tensor<24x28x30xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%41, %47 : tensor<24x28x30xf32>, tensor<24xf32>) outs(%48 : tensor<24x28x30xf32>) {
    ^bb0(%50: f32, %51: f32, %52: f32):
      %53 = arith.mulf %50, %51 : f32
      linalg.yield %53 : f32
    } -> tensor<24x28x30xf32>
    %r = tensor.concat dim(0) %22, %49 : (tensor<24x28x30xf32>, tensor<24x28x30xf32>) -> tensor<48x28x30xf32>
    func.return %r : tensor<48x28x30xf32>
  }
}
