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
// -- changes --
// erased: %0, %5, %6, %7, %10, %11, %12, %19, %20, %27, %28, %35, %36, %43, %y
%48 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
^bb0(%49: index, %50: index, %51: index):
  %52 = arith.constant 0.000000e+00 : f32
  tensor.yield %52 : f32
} : tensor<2x3x4xf32> to tensor<2x5x6xf32>
%53 = ncnn.constant <[12, 2, 2, 2] phases [[[2, 0], [3, 1]], [[2, 0], [3, 1]]] of <[3, 2, 4, 4] random 7 0 0.17677669529663687 0.0>> : tensor<12x2x2x2xf32>
%54 = ncnn.constant <[12] taken [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2] 0 of <[3] random 7 1 0.1 0.0>> : tensor<12xf32>
%55 = tensor.empty() : tensor<12x4x5xf32>
%56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%54 : tensor<12xf32>) outs(%55 : tensor<12x4x5xf32>) {
^bb0(%57: f32, %58: f32):
  linalg.yield %57 : f32
} -> tensor<12x4x5xf32>
%59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%48, %53 : tensor<2x5x6xf32>, tensor<12x2x2x2xf32>) outs(%56 : tensor<12x4x5xf32>) {
^bb0(%60: f32, %61: f32, %62: f32):
  %63 = arith.mulf %60, %61 : f32
  %64 = arith.addf %62, %63 : f32
  linalg.yield %64 : f32
} -> tensor<12x4x5xf32>
%65 = tensor.empty() : tensor<12x4x5xf32>
%66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "transposed"} ins(%59 : tensor<12x4x5xf32>) outs(%65 : tensor<12x4x5xf32>) {
^bb0(%67: f32, %68: f32):
  %69 = arith.constant 0.000000e+00 : f32
  %70 = arith.maxnumf %67, %69 : f32
  linalg.yield %70 : f32
} -> tensor<12x4x5xf32>
%71 = tensor.expand_shape %66 [[0 : i64, 1 : i64, 2 : i64], [3 : i64], [4 : i64]] output_shape [3, 2, 2, 4, 5] : tensor<12x4x5xf32> into tensor<3x2x2x4x5xf32>
%72 = tensor.empty() : tensor<3x4x2x5x2xf32>
%73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"], doc = "transposed"} ins(%71 : tensor<3x2x2x4x5xf32>) outs(%72 : tensor<3x4x2x5x2xf32>) {
^bb0(%74: f32, %75: f32):
  linalg.yield %74 : f32
} -> tensor<3x4x2x5x2xf32>
%76 = tensor.collapse_shape %73 [[0 : i64], [1 : i64, 2 : i64], [3 : i64, 4 : i64]] : tensor<3x4x2x5x2xf32> into tensor<3x8x10xf32>
%y_1 = tensor.extract_slice %76[0, 1, 1] [3, 6, 8] [1, 1, 1] : tensor<3x8x10xf32> to tensor<3x6x8xf32>
func.return %y_1 : tensor<3x6x8xf32>
