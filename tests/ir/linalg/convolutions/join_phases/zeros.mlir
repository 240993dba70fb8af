// passes: join-phases
builtin.module {
  func.func @network(%x: tensor<2x3x4xf32>) -> tensor<2x7x9xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<2x3x4xf32> to tensor<2x5x6xf32>
    %5 = tensor.empty() : tensor<2x7x9xf32>
    %6 = arith.constant 0.000000e+00 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<2x7x9xf32>) -> tensor<2x7x9xf32>
    %8 = ncnn.constant <[2, 2, 3, 3] random 7 0 0.23570226039551587 0.0> : tensor<2x2x3x3xf32>
    %9 = tensor.empty() : tensor<4x5x2x2xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 2), ((d5 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %9 : tensor<2x5x6xf32>, tensor<2x2x3x3xf32>, tensor<4x5x2x2xf32>) outs(%7 : tensor<2x7x9xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32, %14: f32):
      %15 = arith.mulf %11, %12 : f32
      %16 = arith.addf %14, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<2x7x9xf32>
    %17 = tensor.empty() : tensor<4x4x2xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, (d1 + d4), (d2 + 1))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, ((d4 * -2) + 2), 1)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, (d1 * 2), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %17 : tensor<2x5x6xf32>, tensor<2x2x3x3xf32>, tensor<4x4x2xf32>) outs(%10 : tensor<2x7x9xf32>) {
    ^bb0(%19: f32, %20: f32, %21: f32, %22: f32):
      %23 = arith.mulf %19, %20 : f32
      %24 = arith.addf %22, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<2x7x9xf32>
    %25 = tensor.empty() : tensor<3x5x2xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d3, (d1 + 1), (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, 1, ((d4 * -2) + 2))>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, ((d1 * 2) + 1), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %25 : tensor<2x5x6xf32>, tensor<2x2x3x3xf32>, tensor<3x5x2xf32>) outs(%18 : tensor<2x7x9xf32>) {
    ^bb0(%27: f32, %28: f32, %29: f32, %30: f32):
      %31 = arith.mulf %27, %28 : f32
      %32 = arith.addf %30, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<2x7x9xf32>
    %33 = tensor.empty() : tensor<3x4xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, (d1 + 1), (d2 + 1))>, affine_map<(d0, d1, d2, d3) -> (d0, d3, 1, 1)>, affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, ((d1 * 2) + 1), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "transposed"} ins(%0, %8, %33 : tensor<2x5x6xf32>, tensor<2x2x3x3xf32>, tensor<3x4xf32>) outs(%26 : tensor<2x7x9xf32>) {
    ^bb0(%34: f32, %35: f32, %36: f32, %37: f32):
      %38 = arith.mulf %34, %35 : f32
      %39 = arith.addf %37, %38 : f32
      linalg.yield %39 : f32
    } -> tensor<2x7x9xf32>
    func.return %y : tensor<2x7x9xf32>
  }
}
// -- changes --
// erased: %0, %5, %6, %7, %8, %9, %10, %17, %18, %25, %26, %33, %y
%40 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
^bb0(%41: index, %42: index, %43: index):
  %44 = arith.constant 0.000000e+00 : f32
  tensor.yield %44 : f32
} : tensor<2x3x4xf32> to tensor<2x5x6xf32>
%45 = ncnn.constant <[8, 2, 2, 2] phases [[[2, 0], [-1, 1]], [[2, 0], [-1, 1]]] of <[2, 2, 3, 3] random 7 0 0.23570226039551587 0.0>> : tensor<8x2x2x2xf32>
%46 = tensor.empty() : tensor<8x4x5xf32>
%47 = arith.constant 0.000000e+00 : f32
%48 = linalg.fill ins(%47 : f32) outs(%46 : tensor<8x4x5xf32>) -> tensor<8x4x5xf32>
%49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%40, %45 : tensor<2x5x6xf32>, tensor<8x2x2x2xf32>) outs(%48 : tensor<8x4x5xf32>) {
^bb0(%50: f32, %51: f32, %52: f32):
  %53 = arith.mulf %50, %51 : f32
  %54 = arith.addf %52, %53 : f32
  linalg.yield %54 : f32
} -> tensor<8x4x5xf32>
%55 = tensor.expand_shape %49 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [2, 2, 2, 4, 5] : tensor<8x4x5xf32> into tensor<2x2x2x4x5xf32>
%56 = tensor.empty() : tensor<2x4x2x5x2xf32>
%57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "transposed"} ins(%55 : tensor<2x2x2x4x5xf32>) outs(%56 : tensor<2x4x2x5x2xf32>) {
^bb0(%58: f32, %59: f32):
  linalg.yield %58 : f32
} -> tensor<2x4x2x5x2xf32>
%60 = tensor.collapse_shape %57 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<2x4x2x5x2xf32> into tensor<2x8x10xf32>
%y_1 = tensor.extract_slice %60[0, 0, 0] [2, 7, 9] [1, 1, 1] : tensor<2x8x10xf32> to tensor<2x7x9xf32>
func.return %y_1 : tensor<2x7x9xf32>
