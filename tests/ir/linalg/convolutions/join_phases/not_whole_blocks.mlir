// passes: join-phases
// refused: join-phases transposed: phases as they are cost less; ..
builtin.module {
  func.func @network(%x: tensor<2x3x4xf32>) -> tensor<16x6x8xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.empty() : tensor<16x6x8xf32>
    %1 = arith.constant 0.000000e+00 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<16x6x8xf32>) -> tensor<16x6x8xf32>
    %3 = ncnn.constant <[16, 2, 2, 2] random 7 0 0.35355339059327373 0.0> : tensor<16x2x2x2xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, (d1 * 2), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "transposed"} ins(%x, %3 : tensor<2x3x4xf32>, tensor<16x2x2x2xf32>) outs(%2 : tensor<16x6x8xf32>) {
    ^bb0(%5: f32, %6: f32, %7: f32):
      %8 = arith.mulf %5, %6 : f32
      %9 = arith.addf %7, %8 : f32
      linalg.yield %9 : f32
    } -> tensor<16x6x8xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, 0, 1)>, affine_map<(d0, d1, d2, d3) -> (d0, (d1 * 2), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "transposed"} ins(%x, %3 : tensor<2x3x4xf32>, tensor<16x2x2x2xf32>) outs(%4 : tensor<16x6x8xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.mulf %11, %12 : f32
      %15 = arith.addf %13, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<16x6x8xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, 1, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, ((d1 * 2) + 1), (d2 * 2))>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "transposed"} ins(%x, %3 : tensor<2x3x4xf32>, tensor<16x2x2x2xf32>) outs(%10 : tensor<16x6x8xf32>) {
    ^bb0(%17: f32, %18: f32, %19: f32):
      %20 = arith.mulf %17, %18 : f32
      %21 = arith.addf %19, %20 : f32
      linalg.yield %21 : f32
    } -> tensor<16x6x8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, 1, 1)>, affine_map<(d0, d1, d2, d3) -> (d0, ((d1 * 2) + 1), ((d2 * 2) + 1))>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "transposed"} ins(%x, %3 : tensor<2x3x4xf32>, tensor<16x2x2x2xf32>) outs(%16 : tensor<16x6x8xf32>) {
    ^bb0(%22: f32, %23: f32, %24: f32):
      %25 = arith.mulf %22, %23 : f32
      %26 = arith.addf %24, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<16x6x8xf32>
    func.return %y : tensor<16x6x8xf32>
  }
}
// -- changes --
// nothing
