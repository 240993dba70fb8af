// passes: sum-over-images
builtin.module {
  func.func @network(%x: tensor<8x3x9xf32>) -> (tensor<8x3x7xf32>) {
    %w = ncnn.constant <[8, 5, 3] random 7 0 1.0 0.0> : tensor<8x5x3xf32>
    %p = tensor.pad %x low[0, 2, 0] high[0, 2, 0] {
    ^bb0(%a: index, %b: index, %c: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<8x3x9xf32> to tensor<8x7x9xf32>
    %0 = tensor.empty() : tensor<8x3x7xf32>
    %1 = arith.constant 2.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<8x3x7xf32>) -> tensor<8x3x7xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "rows"} ins(%p, %w : tensor<8x7x9xf32>, tensor<8x5x3xf32>) outs(%2 : tensor<8x3x7xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<8x3x7xf32>
    func.return %y : tensor<8x3x7xf32>
  }
}
// -- changes --
// erased: %p, %y
...
...
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, (d2 + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, (((d1 * -1) + d3) + 2), d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "rows"} ins(%x, %w : tensor<8x3x9xf32>, tensor<8x5x3xf32>) outs(%2 : tensor<8x3x7xf32>) {
^bb0(%8: f32, %9: f32, %10: f32):
  %11 = arith.mulf %8, %9 : f32
  %12 = arith.addf %10, %11 : f32
  linalg.yield %12 : f32
} -> tensor<8x3x7xf32>
func.return %y_1 : tensor<8x3x7xf32>
