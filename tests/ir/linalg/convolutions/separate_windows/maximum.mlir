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
// -- changes --
// erased: %p, %w, %y
...
...
...
%4 = tensor.pad %x low[0, 0, 2] high[0, 0, 2] {
^bb0(%5: index, %6: index, %7: index):
  %8 = arith.constant -3.000000e+38 : f32
  tensor.yield %8 : f32
} : tensor<16x7x8xf32> to tensor<16x7x12xf32>
%9 = tensor.empty() : tensor<16x7x8xf32>
%10 = arith.constant 0xff800000 : f32
%11 = linalg.fill ins(%10 : f32) outs(%9 : tensor<16x7x8xf32>) -> tensor<16x7x8xf32>
%12 = tensor.empty() : tensor<5xf32>
%13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, (d2 + d3))>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pool"} ins(%4, %12 : tensor<16x7x12xf32>, tensor<5xf32>) outs(%11 : tensor<16x7x8xf32>) {
^bb0(%14: f32, %15: f32, %16: f32):
  %17 = arith.maxnumf %16, %14 : f32
  linalg.yield %17 : f32
} -> tensor<16x7x8xf32>
%18 = tensor.pad %13 low[0, 2, 0] high[0, 2, 0] {
^bb0(%19: index, %20: index, %21: index):
  %22 = arith.constant -3.000000e+38 : f32
  tensor.yield %22 : f32
} : tensor<16x7x8xf32> to tensor<16x11x8xf32>
%23 = tensor.empty() : tensor<5xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pool"} ins(%18, %23 : tensor<16x11x8xf32>, tensor<5xf32>) outs(%f : tensor<16x7x8xf32>) {
^bb0(%24: f32, %25: f32, %26: f32):
  %27 = arith.maxnumf %26, %24 : f32
  linalg.yield %27 : f32
} -> tensor<16x7x8xf32>
func.return %y_1 : tensor<16x7x8xf32>
