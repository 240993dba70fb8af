// passes: trim-windows
builtin.module {
  func.func @network(%x: tensor<4x5x6xf32>) -> (tensor<8x7x7xf32>) {
    %w = ncnn.constant <[8, 4, 1, 1] random 7 0 1.0 0.0> : tensor<8x4x1x1xf32>
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 0] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<4x5x6xf32> to tensor<4x7x7xf32>
    %0 = tensor.empty() : tensor<8x7x7xf32>
    %1 = arith.constant 2.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<8x7x7xf32>) -> tensor<8x7x7xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d1 + d4, d2 + d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "blind"} ins(%p, %w : tensor<4x7x7xf32>, tensor<8x4x1x1xf32>) outs(%2 : tensor<8x7x7xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<8x7x7xf32>
    func.return %y : tensor<8x7x7xf32>
  }
}
// -- changes --
// erased: %w, %p, %0, %1, %2, %y
%8 = tensor.empty() : tensor<8x1x7xf32>
%9 = arith.constant 2.000000e+00 : f32
%10 = linalg.fill ins(%9 : f32) outs(%8 : tensor<8x1x7xf32>) -> tensor<8x1x7xf32>
%11 = tensor.empty() : tensor<8x5x1xf32>
%12 = arith.constant 2.000000e+00 : f32
%13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<8x5x1xf32>) -> tensor<8x5x1xf32>
%14 = ncnn.constant <[8, 4, 1, 1] taken [0] 3 of <[8, 4, 1, 1] taken [0] 2 of <[8, 4, 1, 1] random 7 0 1.0 0.0>>> : tensor<8x4x1x1xf32>
%15 = tensor.empty() : tensor<8x5x6xf32>
%16 = arith.constant 2.000000e+00 : f32
%17 = linalg.fill ins(%16 : f32) outs(%15 : tensor<8x5x6xf32>) -> tensor<8x5x6xf32>
%18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "blind"} ins(%x, %14 : tensor<4x5x6xf32>, tensor<8x4x1x1xf32>) outs(%17 : tensor<8x5x6xf32>) {
^bb0(%19: f32, %20: f32, %21: f32):
  %22 = arith.mulf %19, %20 : f32
  %23 = arith.addf %21, %22 : f32
  linalg.yield %23 : f32
} -> tensor<8x5x6xf32>
%24 = tensor.concat dim(2) %13, %18 : (tensor<8x5x1xf32>, tensor<8x5x6xf32>) -> tensor<8x5x7xf32>
%25 = tensor.empty() : tensor<8x1x7xf32>
%26 = arith.constant 2.000000e+00 : f32
%27 = linalg.fill ins(%26 : f32) outs(%25 : tensor<8x1x7xf32>) -> tensor<8x1x7xf32>
%y_1 = tensor.concat dim(1) %10, %24, %27 : (tensor<8x1x7xf32>, tensor<8x5x7xf32>, tensor<8x1x7xf32>) -> tensor<8x7x7xf32>
func.return %y_1 : tensor<8x7x7xf32>
