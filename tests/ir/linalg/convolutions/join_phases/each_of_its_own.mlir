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
// -- changes --
// erased: %0, %5, %6, %7, %8, %9, %10, %17, %18, %25, %26, %33, %y
%40 = tensor.pad %x low[0, 1, 1] high[0, 0, 0] {
^bb0(%41: index, %42: index, %43: index):
  %44 = arith.constant 0.000000e+00 : f32
  tensor.yield %44 : f32
} : tensor<64x8x8xf32> to tensor<64x9x9xf32>
%45 = ncnn.constant <[64, 64, 2, 2] phases [[[3, 1]], [[3, 1]]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
%46 = tensor.empty() : tensor<64x8x8xf32>
%47 = arith.constant 0.000000e+00 : f32
%48 = linalg.fill ins(%47 : f32) outs(%46 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
%49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%40, %45 : tensor<64x9x9xf32>, tensor<64x64x2x2xf32>) outs(%48 : tensor<64x8x8xf32>) {
^bb0(%50: f32, %51: f32, %52: f32):
  %53 = arith.mulf %50, %51 : f32
  %54 = arith.addf %52, %53 : f32
  linalg.yield %54 : f32
} -> tensor<64x8x8xf32>
%55 = tensor.pad %x low[0, 1, 0] high[0, 0, 1] {
^bb0(%56: index, %57: index, %58: index):
  %59 = arith.constant 0.000000e+00 : f32
  tensor.yield %59 : f32
} : tensor<64x8x8xf32> to tensor<64x9x9xf32>
%60 = ncnn.constant <[64, 64, 2, 2] phases [[[3, 1]], [[2, 0]]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
%61 = tensor.empty() : tensor<64x8x8xf32>
%62 = arith.constant 0.000000e+00 : f32
%63 = linalg.fill ins(%62 : f32) outs(%61 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
%64 = like %49 of %55, %60, %63
%70 = tensor.pad %x low[0, 0, 1] high[0, 1, 0] {
^bb0(%71: index, %72: index, %73: index):
  %74 = arith.constant 0.000000e+00 : f32
  tensor.yield %74 : f32
} : tensor<64x8x8xf32> to tensor<64x9x9xf32>
%75 = ncnn.constant <[64, 64, 2, 2] phases [[[2, 0]], [[3, 1]]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
%76 = tensor.empty() : tensor<64x8x8xf32>
%77 = arith.constant 0.000000e+00 : f32
%78 = linalg.fill ins(%77 : f32) outs(%76 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
%79 = like %49 of %70, %75, %78
%85 = tensor.pad %x low[0, 0, 0] high[0, 1, 1] {
^bb0(%86: index, %87: index, %88: index):
  %89 = arith.constant 0.000000e+00 : f32
  tensor.yield %89 : f32
} : tensor<64x8x8xf32> to tensor<64x9x9xf32>
%90 = ncnn.constant <[64, 64, 2, 2] phases [[[2, 0]], [[2, 0]]] of <[64, 64, 4, 4] random 1 0 0.03125 0.0>> : tensor<64x64x2x2xf32>
%91 = tensor.empty() : tensor<64x8x8xf32>
%92 = arith.constant 0.000000e+00 : f32
%93 = linalg.fill ins(%92 : f32) outs(%91 : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
%94 = like %49 of %85, %90, %93
%100 = tensor.concat dim(0) %49, %64, %79, %94 : (tensor<64x8x8xf32>, tensor<64x8x8xf32>, tensor<64x8x8xf32>, tensor<64x8x8xf32>) -> tensor<256x8x8xf32>
%101 = tensor.expand_shape %100 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [2, 2, 64, 8, 8] : tensor<256x8x8xf32> into tensor<2x2x64x8x8xf32>
%102 = tensor.empty() : tensor<64x8x2x8x2xf32>
%103 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d2, d4, d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "transposed"} ins(%101 : tensor<2x2x64x8x8xf32>) outs(%102 : tensor<64x8x2x8x2xf32>) {
^bb0(%104: f32, %105: f32):
  linalg.yield %104 : f32
} -> tensor<64x8x2x8x2xf32>
%y_1 = tensor.collapse_shape %103 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<64x8x2x8x2xf32> into tensor<64x16x16xf32>
func.return %y_1 : tensor<64x16x16xf32>
