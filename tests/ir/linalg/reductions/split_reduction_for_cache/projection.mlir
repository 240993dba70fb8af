// passes: split-reduction-for-cache
builtin.module {
  func.func @network(%x: tensor<145x3072xf32>) -> (tensor<48x145x16xf32>) {
    %w = ncnn.constant <[48, 3072, 16] random 7 0 1.0 0.0> : tensor<48x3072x16xf32>
    %0 = tensor.empty() : tensor<48x145x16xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<48x145x16xf32>) -> tensor<48x145x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "project"} ins(%x, %w : tensor<145x3072xf32>, tensor<48x3072x16xf32>) outs(%2 : tensor<48x145x16xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<48x145x16xf32>
    func.return %y : tensor<48x145x16xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<145x3072xf32>) -> tensor<48x145x16xf32> {
    %w = ncnn.constant <[48, 3072, 16] random 7 0 1.0 0.0> : tensor<48x3072x16xf32>
    %0 = tensor.empty() : tensor<48x145x16xf32>
    %1 = arith.constant 0.000000e+00 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<48x145x16xf32>) -> tensor<48x145x16xf32>
    %3 = tensor.extract_slice %x[0, 0] [145, 1024] [1, 1] : tensor<145x3072xf32> to tensor<145x1024xf32>
    %4 = tensor.extract_slice %w[0, 0, 0] [48, 1024, 16] [1, 1, 1] : tensor<48x3072x16xf32> to tensor<48x1024x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "project"} ins(%3, %4 : tensor<145x1024xf32>, tensor<48x1024x16xf32>) outs(%2 : tensor<48x145x16xf32>) {
    ^bb0(%5: f32, %6: f32, %7: f32):
      %8 = arith.mulf %5, %6 : f32
      %9 = arith.addf %7, %8 : f32
      linalg.yield %9 : f32
    } -> tensor<48x145x16xf32>
    %10 = tensor.extract_slice %x[0, 1024] [145, 1024] [1, 1] : tensor<145x3072xf32> to tensor<145x1024xf32>
    %11 = tensor.extract_slice %w[0, 1024, 0] [48, 1024, 16] [1, 1, 1] : tensor<48x3072x16xf32> to tensor<48x1024x16xf32>
    %y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "project"} ins(%10, %11 : tensor<145x1024xf32>, tensor<48x1024x16xf32>) outs(%y : tensor<48x145x16xf32>) {
    ^bb0(%12: f32, %13: f32, %14: f32):
      %15 = arith.mulf %12, %13 : f32
      %16 = arith.addf %14, %15 : f32
      linalg.yield %16 : f32
    } -> tensor<48x145x16xf32>
    %17 = tensor.extract_slice %x[0, 2048] [145, 1024] [1, 1] : tensor<145x3072xf32> to tensor<145x1024xf32>
    %18 = tensor.extract_slice %w[0, 2048, 0] [48, 1024, 16] [1, 1, 1] : tensor<48x3072x16xf32> to tensor<48x1024x16xf32>
    %y_2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "project"} ins(%17, %18 : tensor<145x1024xf32>, tensor<48x1024x16xf32>) outs(%y_1 : tensor<48x145x16xf32>) {
    ^bb0(%19: f32, %20: f32, %21: f32):
      %22 = arith.mulf %19, %20 : f32
      %23 = arith.addf %21, %22 : f32
      linalg.yield %23 : f32
    } -> tensor<48x145x16xf32>
    func.return %y_2 : tensor<48x145x16xf32>
  }
}
