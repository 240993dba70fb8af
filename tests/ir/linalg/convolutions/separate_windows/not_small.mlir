// passes: separate-windows
// refused: separate-windows pool: its windows of 9 elements are too small, or overlap too little
builtin.module {
  func.func @network(%x: tensor<16x7x8xf32>) -> (tensor<16x7x8xf32>) {
    %least = arith.constant -3.0e+38 : f32
    %p = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%i: index, %j: index, %k: index):
      tensor.yield %least : f32
    } : tensor<16x7x8xf32> to tensor<16x9x10xf32>
    %e = tensor.empty() : tensor<16x7x8xf32>
    %w = tensor.empty() : tensor<3x3xf32>
    %f = linalg.fill ins(%least : f32) outs(%e : tensor<16x7x8xf32>) -> tensor<16x7x8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"], doc = "pool"} ins(%p, %w : tensor<16x9x10xf32>, tensor<3x3xf32>) outs(%f : tensor<16x7x8xf32>) {
    ^bb1(%0: f32, %1: f32, %2: f32):
      %3 = arith.maxnumf %2, %0 : f32
      linalg.yield %3 : f32
    } -> tensor<16x7x8xf32>
    func.return %y : tensor<16x7x8xf32>
  }
}
// -- changes --
// nothing
