// passes: trim-windows
builtin.module {
  func.func @network(%x: tensor<4x12x6xf32>) -> (tensor<8x12x6xf32>) {
    %w = ncnn.constant <[8, 4, 3, 3] random 7 0 1.0 0.0> : tensor<8x4x3x3xf32>
    %p = tensor.pad %x low[0, 8, 8] high[0, 8, 8] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<4x12x6xf32> to tensor<4x28x22xf32>
    %0 = tensor.empty() : tensor<8x12x6xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<8x12x6xf32>) -> tensor<8x12x6xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4 * 8, d2 + d5 * 8)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "dilated"} ins(%p, %w : tensor<4x28x22xf32>, tensor<8x4x3x3xf32>) outs(%2 : tensor<8x12x6xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<8x12x6xf32>
    func.return %y : tensor<8x12x6xf32>
  }
}
// -- changes --
// erased: %w, %p, %0, %1, %2, %y
%8 = ncnn.constant <[8, 4, 2, 1] taken [1] 3 of <[8, 4, 2, 3] taken [1, 2] 2 of <[8, 4, 3, 3] random 7 0 1.0 0.0>>> : tensor<8x4x2x1xf32>
%9 = tensor.empty() : tensor<8x4x6xf32>
%10 = arith.constant 0.000000e+00 : f32
%11 = linalg.fill ins(%10 : f32) outs(%9 : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
%12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + (d4 * 8)), (d2 + (d5 * 8)))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "dilated"} ins(%x, %8 : tensor<4x12x6xf32>, tensor<8x4x2x1xf32>) outs(%11 : tensor<8x4x6xf32>) {
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = arith.mulf %13, %14 : f32
  %17 = arith.addf %15, %16 : f32
  linalg.yield %17 : f32
} -> tensor<8x4x6xf32>
%18 = tensor.extract_slice %x[0, 4, 0] [4, 4, 6] [1, 1, 1] : tensor<4x12x6xf32> to tensor<4x4x6xf32>
%19 = ncnn.constant <[8, 4, 1, 1] taken [1] 3 of <[8, 4, 1, 3] taken [1] 2 of <[8, 4, 3, 3] random 7 0 1.0 0.0>>> : tensor<8x4x1x1xf32>
%20 = tensor.empty() : tensor<8x4x6xf32>
%21 = arith.constant 0.000000e+00 : f32
%22 = linalg.fill ins(%21 : f32) outs(%20 : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
%23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + (d4 * 8)), (d2 + (d5 * 8)))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "dilated"} ins(%18, %19 : tensor<4x4x6xf32>, tensor<8x4x1x1xf32>) outs(%22 : tensor<8x4x6xf32>) {
^bb0(%24: f32, %25: f32, %26: f32):
  %27 = arith.mulf %24, %25 : f32
  %28 = arith.addf %26, %27 : f32
  linalg.yield %28 : f32
} -> tensor<8x4x6xf32>
%29 = ncnn.constant <[8, 4, 2, 1] taken [1] 3 of <[8, 4, 2, 3] taken [0, 1] 2 of <[8, 4, 3, 3] random 7 0 1.0 0.0>>> : tensor<8x4x2x1xf32>
%30 = tensor.empty() : tensor<8x4x6xf32>
%31 = arith.constant 0.000000e+00 : f32
%32 = linalg.fill ins(%31 : f32) outs(%30 : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
%33 = like %12 of %x, %29, %32
%y_1 = tensor.concat dim(1) %12, %23, %33 : (tensor<8x4x6xf32>, tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x12x6xf32>
func.return %y_1 : tensor<8x12x6xf32>
