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
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<2x24x56x16xf32>) -> (tensor<2x16xf32>, tensor<2x48x56x16xf32>) {
    %0 = tensor.empty() : tensor<2x24x56x16xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x24x56x16xf32>) outs(%0 : tensor<2x24x56x16xf32>) {
    ^bb0(%2: f32, %3: f32):
      %4 = arith.mulf %2, %2 : f32
      linalg.yield %4 : f32
    } -> tensor<2x24x56x16xf32>
    %5 = tensor.empty() : tensor<24x2x16xf32>
    %6 = arith.constant 0.000000e+00 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<24x2x16xf32>) -> tensor<24x2x16xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "pool"} ins(%1 : tensor<2x24x56x16xf32>) outs(%7 : tensor<24x2x16xf32>) {
    ^bb0(%9: f32, %10: f32):
      %11 = arith.addf %10, %9 : f32
      linalg.yield %11 : f32
    } -> tensor<24x2x16xf32>
    %12 = tensor.empty() : tensor<2x24x56x16xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x24x56x16xf32>) outs(%12 : tensor<2x24x56x16xf32>) {
    ^bb0(%14: f32, %15: f32):
      %16 = arith.addf %14, %14 : f32
      linalg.yield %16 : f32
    } -> tensor<2x24x56x16xf32>
    %17 = tensor.empty() : tensor<24x2x16xf32>
    %18 = arith.constant 0.000000e+00 : f32
    %19 = linalg.fill ins(%18 : f32) outs(%17 : tensor<24x2x16xf32>) -> tensor<24x2x16xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "pool"} ins(%13 : tensor<2x24x56x16xf32>) outs(%19 : tensor<24x2x16xf32>) {
    ^bb0(%21: f32, %22: f32):
      %23 = arith.addf %22, %21 : f32
      linalg.yield %23 : f32
    } -> tensor<24x2x16xf32>
    %24 = tensor.concat dim(1) %1, %13 : (tensor<2x24x56x16xf32>, tensor<2x24x56x16xf32>) -> tensor<2x48x56x16xf32>
    %25 = tensor.empty() : tensor<2x16xf32>
    %26 = arith.constant 0.000000e+00 : f32
    %27 = linalg.fill ins(%26 : f32) outs(%25 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %28 = tensor.concat dim(0) %8, %20 : (tensor<24x2x16xf32>, tensor<24x2x16xf32>) -> tensor<48x2x16xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"], doc = "pool"} ins(%28 : tensor<48x2x16xf32>) outs(%27 : tensor<2x16xf32>) {
    ^bb0(%30: f32, %31: f32):
      %32 = arith.addf %31, %30 : f32
      linalg.yield %32 : f32
    } -> tensor<2x16xf32>
    func.return %29, %24 : tensor<2x16xf32>, tensor<2x48x56x16xf32>
  }
}
