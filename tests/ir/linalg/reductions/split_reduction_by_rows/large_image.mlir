// passes: split-reduction-by-rows
// Rows are summed behind the operation that makes them.
builtin.module {
  func.func @network(%x: tensor<2x48x56x16xf32>) -> (tensor<2x16xf32>, tensor<2x48x56x16xf32>) {
    %0 = tensor.empty() : tensor<2x48x56x16xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x48x56x16xf32>) outs(%0 : tensor<2x48x56x16xf32>) {
    ^bb0(%2: f32, %3: f32):
      %4 = arith.mulf %2, %2 : f32
      linalg.yield %4 : f32
    } -> tensor<2x48x56x16xf32>
    %5 = tensor.empty() : tensor<2x16xf32>
    %6 = arith.constant 0.0 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>], iterator_types = ["parallel", "reduction", "reduction", "parallel"], doc = "pool"} ins(%1 : tensor<2x48x56x16xf32>) outs(%7 : tensor<2x16xf32>) {
    ^bb0(%9: f32, %10: f32):
      %11 = arith.addf %10, %9 : f32
      linalg.yield %11 : f32
    } -> tensor<2x16xf32>
    func.return %8, %1 : tensor<2x16xf32>, tensor<2x48x56x16xf32>
  }
}
// -- changes --
// erased: %8
...
%12 = tensor.empty() : tensor<48x2x16xf32>
%13 = arith.constant 0.000000e+00 : f32
%14 = linalg.fill ins(%13 : f32) outs(%12 : tensor<48x2x16xf32>) -> tensor<48x2x16xf32>
%15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "pool"} ins(%1 : tensor<2x48x56x16xf32>) outs(%14 : tensor<48x2x16xf32>) {
^bb0(%16: f32, %17: f32):
  %18 = arith.addf %17, %16 : f32
  linalg.yield %18 : f32
} -> tensor<48x2x16xf32>
...
%19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"], doc = "pool"} ins(%15 : tensor<48x2x16xf32>) outs(%7 : tensor<2x16xf32>) {
^bb0(%20: f32, %21: f32):
  %22 = arith.addf %21, %20 : f32
  linalg.yield %22 : f32
} -> tensor<2x16xf32>
func.return %19, %1 : tensor<2x16xf32>, tensor<2x48x56x16xf32>
