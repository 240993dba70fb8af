// passes: separate-windows
builtin.module {
  func.func @network(%x: tensor<16x7x8xf32>) -> (tensor<16x7x8xf32>) {
    %least = arith.constant -3.0e+38 : f32
    %p = tensor.pad %x low[0, 2, 2] high[0, 2, 2] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %least : f32
    } : tensor<16x7x8xf32> to tensor<16x11x12xf32>
    %e = tensor.empty() : tensor<16x7x8xf32>
    %w = tensor.empty() : tensor<5x5xf32>
    %f = linalg.fill ins(%least : f32) outs(%e : tensor<16x7x8xf32>) -> tensor<16x7x8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "pool"} ins(%p, %w : tensor<16x11x12xf32>, tensor<5x5xf32>) outs(%f : tensor<16x7x8xf32>) {
    ^bb1(%0: f32, %1: f32, %2: f32):
      %3 = arith.maxnumf %2, %0 : f32
      linalg.yield %3 : f32
    } -> tensor<16x7x8xf32>
    func.return %y : tensor<16x7x8xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<16x7x8xf32>) -> tensor<16x7x8xf32> {
    %least = arith.constant -3.000000e+38 : f32
    %e = tensor.empty() : tensor<16x7x8xf32>
    %f = linalg.fill ins(%least : f32) outs(%e : tensor<16x7x8xf32>) -> tensor<16x7x8xf32>
    %0 = tensor.pad %x low[0, 0, 2] high[0, 0, 2] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant -3.000000e+38 : f32
      tensor.yield %4 : f32
    } : tensor<16x7x8xf32> to tensor<16x7x12xf32>
    %5 = tensor.empty() : tensor<16x7x8xf32>
    %6 = arith.constant 0xff800000 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<16x7x8xf32>) -> tensor<16x7x8xf32>
    %8 = tensor.empty() : tensor<5xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, (d2 + d3))>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pool"} ins(%0, %8 : tensor<16x7x12xf32>, tensor<5xf32>) outs(%7 : tensor<16x7x8xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32):
      %13 = arith.maxnumf %12, %10 : f32
      linalg.yield %13 : f32
    } -> tensor<16x7x8xf32>
    %14 = tensor.pad %9 low[0, 2, 0] high[0, 2, 0] {
    ^bb0(%15: index, %16: index, %17: index):
      %18 = arith.constant -3.000000e+38 : f32
      tensor.yield %18 : f32
    } : tensor<16x7x8xf32> to tensor<16x11x8xf32>
    %19 = tensor.empty() : tensor<5xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pool"} ins(%14, %19 : tensor<16x11x8xf32>, tensor<5xf32>) outs(%f : tensor<16x7x8xf32>) {
    ^bb0(%20: f32, %21: f32, %22: f32):
      %23 = arith.maxnumf %22, %20 : f32
      linalg.yield %23 : f32
    } -> tensor<16x7x8xf32>
    func.return %y : tensor<16x7x8xf32>
  }
}
