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
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<4x12x6xf32>) -> tensor<8x12x6xf32> {
    %0 = ncnn.constant <[8, 4, 2, 1] taken 3 [1] of <[8, 4, 2, 3] taken 2 [1, 2] of <[8, 4, 3, 3] random 7 0 1.0 0.0>>> : tensor<8x4x2x1xf32>
    %1 = tensor.empty() : tensor<8x4x6xf32>
    %2 = arith.constant 0.000000e+00 : f32
    %3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + (d4 * 8)), (d2 + (d5 * 8)))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "dilated"} ins(%x, %0 : tensor<4x12x6xf32>, tensor<8x4x2x1xf32>) outs(%3 : tensor<8x4x6xf32>) {
    ^bb0(%5: f32, %6: f32, %7: f32):
      %8 = arith.mulf %5, %6 : f32
      %9 = arith.addf %7, %8 : f32
      linalg.yield %9 : f32
    } -> tensor<8x4x6xf32>
    %10 = tensor.extract_slice %x[0, 4, 0] [4, 4, 6] [1, 1, 1] : tensor<4x12x6xf32> to tensor<4x4x6xf32>
    %11 = ncnn.constant <[8, 4, 1, 1] taken 3 [1] of <[8, 4, 1, 3] taken 2 [1] of <[8, 4, 3, 3] random 7 0 1.0 0.0>>> : tensor<8x4x1x1xf32>
    %12 = tensor.empty() : tensor<8x4x6xf32>
    %13 = arith.constant 0.000000e+00 : f32
    %14 = linalg.fill ins(%13 : f32) outs(%12 : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + (d4 * 8)), (d2 + (d5 * 8)))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "dilated"} ins(%10, %11 : tensor<4x4x6xf32>, tensor<8x4x1x1xf32>) outs(%14 : tensor<8x4x6xf32>) {
    ^bb0(%16: f32, %17: f32, %18: f32):
      %19 = arith.mulf %16, %17 : f32
      %20 = arith.addf %18, %19 : f32
      linalg.yield %20 : f32
    } -> tensor<8x4x6xf32>
    %21 = ncnn.constant <[8, 4, 2, 1] taken 3 [1] of <[8, 4, 2, 3] taken 2 [0, 1] of <[8, 4, 3, 3] random 7 0 1.0 0.0>>> : tensor<8x4x2x1xf32>
    %22 = tensor.empty() : tensor<8x4x6xf32>
    %23 = arith.constant 0.000000e+00 : f32
    %24 = linalg.fill ins(%23 : f32) outs(%22 : tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + (d4 * 8)), (d2 + (d5 * 8)))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "dilated"} ins(%x, %21 : tensor<4x12x6xf32>, tensor<8x4x2x1xf32>) outs(%24 : tensor<8x4x6xf32>) {
    ^bb0(%26: f32, %27: f32, %28: f32):
      %29 = arith.mulf %26, %27 : f32
      %30 = arith.addf %28, %29 : f32
      linalg.yield %30 : f32
    } -> tensor<8x4x6xf32>
    %y = tensor.concat dim(1) %4, %15, %25 : (tensor<8x4x6xf32>, tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x12x6xf32>
    func.return %y : tensor<8x12x6xf32>
  }
}
