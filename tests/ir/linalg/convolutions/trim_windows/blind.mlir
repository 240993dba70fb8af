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
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<4x5x6xf32>) -> tensor<8x7x7xf32> {
    %0 = tensor.empty() : tensor<8x1x7xf32>
    %1 = arith.constant 2.000000e+00 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<8x1x7xf32>) -> tensor<8x1x7xf32>
    %3 = tensor.empty() : tensor<8x5x1xf32>
    %4 = arith.constant 2.000000e+00 : f32
    %5 = linalg.fill ins(%4 : f32) outs(%3 : tensor<8x5x1xf32>) -> tensor<8x5x1xf32>
    %6 = ncnn.constant <[8, 4, 1, 1] taken 3 [0] of <[8, 4, 1, 1] taken 2 [0] of <[8, 4, 1, 1] random 7 0 1.0 0.0>>> : tensor<8x4x1x1xf32>
    %7 = tensor.empty() : tensor<8x5x6xf32>
    %8 = arith.constant 2.000000e+00 : f32
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<8x5x6xf32>) -> tensor<8x5x6xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "blind"} ins(%x, %6 : tensor<4x5x6xf32>, tensor<8x4x1x1xf32>) outs(%9 : tensor<8x5x6xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.mulf %11, %12 : f32
      %15 = arith.addf %13, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<8x5x6xf32>
    %16 = tensor.concat dim(2) %5, %10 : (tensor<8x5x1xf32>, tensor<8x5x6xf32>) -> tensor<8x5x7xf32>
    %17 = tensor.empty() : tensor<8x1x7xf32>
    %18 = arith.constant 2.000000e+00 : f32
    %19 = linalg.fill ins(%18 : f32) outs(%17 : tensor<8x1x7xf32>) -> tensor<8x1x7xf32>
    %y = tensor.concat dim(1) %2, %16, %19 : (tensor<8x1x7xf32>, tensor<8x5x7xf32>, tensor<8x1x7xf32>) -> tensor<8x7x7xf32>
    func.return %y : tensor<8x7x7xf32>
  }
}
