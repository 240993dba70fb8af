// passes: split-reduction-by-rows
// Rows are summed behind the strip that makes them.
builtin.module {
  func.func @network(%x: tensor<2x24x56x16xf32>) -> (tensor<2x16xf32>, tensor<2x48x56x16xf32>) {
    %0 = tensor.empty() : tensor<2x24x56x16xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x24x56x16xf32>) outs(%0 : tensor<2x24x56x16xf32>) {
    ^bb0(%2: f32, %3: f32):
      %4 = arith.mulf %2, %2 : f32
      linalg.yield %4 : f32
    } -> tensor<2x24x56x16xf32>
    %5 = tensor.empty() : tensor<2x24x56x16xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x24x56x16xf32>) outs(%5 : tensor<2x24x56x16xf32>) {
    ^bb0(%7: f32, %8: f32):
      %9 = arith.addf %7, %7 : f32
      linalg.yield %9 : f32
    } -> tensor<2x24x56x16xf32>
    %10 = tensor.concat dim(1) %1, %6 : (tensor<2x24x56x16xf32>, tensor<2x24x56x16xf32>) -> tensor<2x48x56x16xf32>
    %11 = tensor.empty() : tensor<2x16xf32>
    %12 = arith.constant 0.0 : f32
    %13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>], iterator_types = ["parallel", "reduction", "reduction", "parallel"], doc = "pool"} ins(%10 : tensor<2x48x56x16xf32>) outs(%13 : tensor<2x16xf32>) {
    ^bb0(%15: f32, %16: f32):
      %17 = arith.addf %16, %15 : f32
      linalg.yield %17 : f32
    } -> tensor<2x16xf32>
    func.return %14, %10 : tensor<2x16xf32>, tensor<2x48x56x16xf32>
  }
}
// -- changes --
// erased: %14
...
%18 = tensor.empty() : tensor<24x2x16xf32>
%19 = arith.constant 0.000000e+00 : f32
%20 = linalg.fill ins(%19 : f32) outs(%18 : tensor<24x2x16xf32>) -> tensor<24x2x16xf32>
%21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "pool"} ins(%1 : tensor<2x24x56x16xf32>) outs(%20 : tensor<24x2x16xf32>) {
^bb0(%22: f32, %23: f32):
  %24 = arith.addf %23, %22 : f32
  linalg.yield %24 : f32
} -> tensor<24x2x16xf32>
...
%25 = tensor.empty() : tensor<24x2x16xf32>
%26 = arith.constant 0.000000e+00 : f32
%27 = linalg.fill ins(%26 : f32) outs(%25 : tensor<24x2x16xf32>) -> tensor<24x2x16xf32>
%28 = like %21 of %6, %27
...
%32 = tensor.concat dim(0) %21, %28 : (tensor<24x2x16xf32>, tensor<24x2x16xf32>) -> tensor<48x2x16xf32>
%33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"], doc = "pool"} ins(%32 : tensor<48x2x16xf32>) outs(%13 : tensor<2x16xf32>) {
^bb0(%34: f32, %35: f32):
  %36 = arith.addf %35, %34 : f32
  linalg.yield %36 : f32
} -> tensor<2x16xf32>
func.return %33, %10 : tensor<2x16xf32>, tensor<2x48x56x16xf32>
