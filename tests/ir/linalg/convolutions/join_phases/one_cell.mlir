// passes: join-phases
builtin.module {
  func.func @network(%x: tensor<2x1x1xf32>) -> tensor<4x2x2xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<2x1x1xf32> to tensor<2x3x3xf32>
    %5 = ncnn.constant <[4] random 1 1 0.1 0.0> : tensor<4xf32>
    %6 = tensor.empty() : tensor<4x2x2xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%5 : tensor<4xf32>) outs(%6 : tensor<4x2x2xf32>) {
    ^bb0(%8: f32, %9: f32):
      linalg.yield %8 : f32
    } -> tensor<4x2x2xf32>
    %10 = ncnn.constant <[4, 2, 4, 4] random 1 0 0.17677669529663687 0.0> : tensor<4x2x4x4xf32>
    %11 = tensor.empty() : tensor<1x1x2x2xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %11 : tensor<2x3x3xf32>, tensor<4x2x4x4xf32>, tensor<1x1x2x2xf32>) outs(%7 : tensor<4x2x2xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32, %16: f32):
      %17 = arith.mulf %13, %14 : f32
      %18 = arith.addf %16, %17 : f32
      linalg.yield %18 : f32
    } -> tensor<4x2x2xf32>
    %19 = tensor.empty() : tensor<1x1x2x2xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %19 : tensor<2x3x3xf32>, tensor<4x2x4x4xf32>, tensor<1x1x2x2xf32>) outs(%12 : tensor<4x2x2xf32>) {
    ^bb0(%21: f32, %22: f32, %23: f32, %24: f32):
      %25 = arith.mulf %21, %22 : f32
      %26 = arith.addf %24, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<4x2x2xf32>
    %27 = tensor.empty() : tensor<1x1x2x2xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %27 : tensor<2x3x3xf32>, tensor<4x2x4x4xf32>, tensor<1x1x2x2xf32>) outs(%20 : tensor<4x2x2xf32>) {
    ^bb0(%29: f32, %30: f32, %31: f32, %32: f32):
      %33 = arith.mulf %29, %30 : f32
      %34 = arith.addf %32, %33 : f32
      linalg.yield %34 : f32
    } -> tensor<4x2x2xf32>
    %35 = tensor.empty() : tensor<1x1x2x2xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %10, %35 : tensor<2x3x3xf32>, tensor<4x2x4x4xf32>, tensor<1x1x2x2xf32>) outs(%28 : tensor<4x2x2xf32>) {
    ^bb0(%36: f32, %37: f32, %38: f32, %39: f32):
      %40 = arith.mulf %36, %37 : f32
      %41 = arith.addf %39, %40 : f32
      linalg.yield %41 : f32
    } -> tensor<4x2x2xf32>
    func.return %y : tensor<4x2x2xf32>
  }
}
// -- changes --
// erased: %0, %5, %6, %7, %10, %11, %12, %19, %20, %27, %28, %35, %y
%42 = ncnn.constant <[16, 2, 1, 1] phases [[[1], [2]], [[1], [2]]] of <[4, 2, 4, 4] random 1 0 0.17677669529663687 0.0>> : tensor<16x2x1x1xf32>
%43 = tensor.collapse_shape %42 [[0 : i64, 1 : i64, 2 : i64, 3 : i64]] : tensor<16x2x1x1xf32> into tensor<32xf32>
%44 = tensor.expand_shape %43 [[0 : i64, 1 : i64]] output_shape [16, 2] : tensor<32xf32> into tensor<16x2xf32>
%45 = ncnn.constant <[16] taken [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3] 0 of <[4] random 1 1 0.1 0.0>> : tensor<16xf32>
%46 = tensor.empty() : tensor<16x1x1xf32>
%47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%45 : tensor<16xf32>) outs(%46 : tensor<16x1x1xf32>) {
^bb0(%48: f32, %49: f32):
  linalg.yield %48 : f32
} -> tensor<16x1x1xf32>
%50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "transposed"} ins(%x, %44 : tensor<2x1x1xf32>, tensor<16x2xf32>) outs(%47 : tensor<16x1x1xf32>) {
^bb0(%51: f32, %52: f32, %53: f32):
  %54 = arith.mulf %51, %52 : f32
  %55 = arith.addf %53, %54 : f32
  linalg.yield %55 : f32
} -> tensor<16x1x1xf32>
%56 = tensor.expand_shape %50 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [4, 2, 2, 1, 1] : tensor<16x1x1xf32> into tensor<4x2x2x1x1xf32>
%57 = tensor.empty() : tensor<4x1x2x1x2xf32>
%58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "transposed"} ins(%56 : tensor<4x2x2x1x1xf32>) outs(%57 : tensor<4x1x2x1x2xf32>) {
^bb0(%59: f32, %60: f32):
  linalg.yield %59 : f32
} -> tensor<4x1x2x1x2xf32>
%y_1 = tensor.collapse_shape %58 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<4x1x2x1x2xf32> into tensor<4x2x2xf32>
func.return %y_1 : tensor<4x2x2xf32>
