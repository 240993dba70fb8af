// passes: join-phases
// refused: join-phases transposed: phases as they are cost less; ..
builtin.module {
  func.func @network(%x: tensor<32x4x4xf32>) -> tensor<16x7x7xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<32x4x4xf32> to tensor<32x6x6xf32>
    %5 = tensor.empty() : tensor<16x7x7xf32>
    %6 = arith.constant 0.000000e+00 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<16x7x7xf32>) -> tensor<16x7x7xf32>
    %8 = ncnn.constant <[16, 32, 5, 5] random 1 0 0.035355339059327376 0.0> : tensor<16x32x5x5xf32>
    %9 = tensor.empty() : tensor<4x4x3x3xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 4), ((d5 * -2) + 4))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %9 : tensor<32x6x6xf32>, tensor<16x32x5x5xf32>, tensor<4x4x3x3xf32>) outs(%7 : tensor<16x7x7xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32, %14: f32):
      %15 = arith.mulf %11, %12 : f32
      %16 = arith.addf %14, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<16x7x7xf32>
    %17 = tensor.empty() : tensor<4x3x3x2xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 4), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 * 2), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %17 : tensor<32x6x6xf32>, tensor<16x32x5x5xf32>, tensor<4x3x3x2xf32>) outs(%10 : tensor<16x7x7xf32>) {
    ^bb0(%19: f32, %20: f32, %21: f32, %22: f32):
      %23 = arith.mulf %19, %20 : f32
      %24 = arith.addf %22, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<16x7x7xf32>
    %25 = tensor.empty() : tensor<3x4x2x3xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 4))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %25 : tensor<32x6x6xf32>, tensor<16x32x5x5xf32>, tensor<3x4x2x3xf32>) outs(%18 : tensor<16x7x7xf32>) {
    ^bb0(%27: f32, %28: f32, %29: f32, %30: f32):
      %31 = arith.mulf %27, %28 : f32
      %32 = arith.addf %30, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<16x7x7xf32>
    %33 = tensor.empty() : tensor<3x3x2x2xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 + 1) + d4), ((d2 + 1) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -2) + 3), ((d5 * -2) + 3))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d2, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, ((d1 * 2) + 1), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %8, %33 : tensor<32x6x6xf32>, tensor<16x32x5x5xf32>, tensor<3x3x2x2xf32>) outs(%26 : tensor<16x7x7xf32>) {
    ^bb0(%34: f32, %35: f32, %36: f32, %37: f32):
      %38 = arith.mulf %34, %35 : f32
      %39 = arith.addf %37, %38 : f32
      linalg.yield %39 : f32
    } -> tensor<16x7x7xf32>
    func.return %y : tensor<16x7x7xf32>
  }
}
// -- changes --
// nothing
