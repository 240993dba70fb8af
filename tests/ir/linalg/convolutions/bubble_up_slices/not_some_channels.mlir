// passes: bubble-up-slices
// refused: bubble-up-slices : the slice keeps some of the channels
builtin.module {
  func.func @network(%x: tensor<4x10xf32>) -> (tensor<4x12xf32>) {
    %w = ncnn.constant <[8, 4, 3] random 7 0 1.0 0.0> : tensor<8x4x3xf32>
    %bias = ncnn.constant <[8] random 7 1 1.0 0.0> : tensor<8xf32>
    %p = tensor.pad %x low[0, 2] high[0, 2] {
    ^bb0(%a: index, %b: index):
      %z = arith.constant 0.0 : f32
      tensor.yield %z : f32
    } : tensor<4x10xf32> to tensor<4x14xf32>
    %0 = tensor.empty() : tensor<8x12xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<8xf32>) outs(%0 : tensor<8x12xf32>) {
    ^bb0(%2: f32, %3: f32):
      linalg.yield %2 : f32
    } -> tensor<8x12xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d1 + d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%p, %w : tensor<4x14xf32>, tensor<8x4x3xf32>) outs(%1 : tensor<8x12xf32>) {
    ^bb0(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.addf %6, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<8x12xf32>
    %n = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<8x12xf32>) outs(%0 : tensor<8x12xf32>) {
    ^bb0(%9: f32, %10: f32):
      %11 = arith.negf %9 : f32
      linalg.yield %11 : f32
    } -> tensor<8x12xf32>
    %s = tensor.extract_slice %n[4, 0] [4, 12] [1, 1] : tensor<8x12xf32> to tensor<4x12xf32>
    func.return %s : tensor<4x12xf32>
  }
}
// -- changes --
// nothing
