// passes: join-groups
// refused: join-groups groups: products with zeros cost more than they save; ..
builtin.module {
  func.func @network(%x: tensor<32x3x64xf32>) -> (tensor<32x3x64xf32>) {
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %zero : f32
    } : tensor<32x3x64xf32> to tensor<32x5x66xf32>
    %b = ncnn.constant <[8, 4] random 8 0 1.0 0.0> : tensor<8x4xf32>
    %w = ncnn.constant <[8, 4, 4, 3, 3] random 7 0 1.0 0.0> : tensor<8x4x4x3x3xf32>
    %0 = tensor.empty() : tensor<8x4x3x64xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "groups"} ins(%b : tensor<8x4xf32>) outs(%0 : tensor<8x4x3x64xf32>) {
    ^bb1(%2: f32, %3: f32):
      linalg.yield %2 : f32
    } -> tensor<8x4x3x64xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 4 + d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "groups"} ins(%p, %w : tensor<32x5x66xf32>, tensor<8x4x4x3x3xf32>) outs(%1 : tensor<8x4x3x64xf32>) {
    ^bb2(%4: f32, %5: f32, %6: f32):
      %7 = arith.mulf %4, %5 : f32
      %8 = arith.addf %6, %7 : f32
      linalg.yield %8 : f32
    } -> tensor<8x4x3x64xf32>
    %z = tensor.collapse_shape %y [[0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<8x4x3x64xf32> into tensor<32x3x64xf32>
    %s = ncnn.constant <[32] random 9 0 1.0 0.0> : tensor<32xf32>
    %e = tensor.empty() : tensor<32x3x64xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "scale"} ins(%z, %s : tensor<32x3x64xf32>, tensor<32xf32>) outs(%e : tensor<32x3x64xf32>) {
    ^bb3(%9: f32, %10: f32, %11: f32):
      %12 = arith.mulf %9, %10 : f32
      linalg.yield %12 : f32
    } -> tensor<32x3x64xf32>
    func.return %r : tensor<32x3x64xf32>
  }
}
// -- changes --
// nothing
