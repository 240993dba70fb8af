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
// -- changes --
// erased: %y
...
%8 = tensor.extract_slice %x[0, 0] [145, 1024] [1, 1] : tensor<145x3072xf32> to tensor<145x1024xf32>
%9 = tensor.extract_slice %w[0, 0, 0] [48, 1024, 16] [1, 1, 1] : tensor<48x3072x16xf32> to tensor<48x1024x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "project"} ins(%8, %9 : tensor<145x1024xf32>, tensor<48x1024x16xf32>) outs(%2 : tensor<48x145x16xf32>) {
^bb0(%10: f32, %11: f32, %12: f32):
  %13 = arith.mulf %10, %11 : f32
  %14 = arith.addf %12, %13 : f32
  linalg.yield %14 : f32
} -> tensor<48x145x16xf32>
%15 = tensor.extract_slice %x[0, 1024] [145, 1024] [1, 1] : tensor<145x3072xf32> to tensor<145x1024xf32>
%16 = tensor.extract_slice %w[0, 1024, 0] [48, 1024, 16] [1, 1, 1] : tensor<48x3072x16xf32> to tensor<48x1024x16xf32>
%y_2 = like %y_1 of %15, %16, %y_1
%22 = tensor.extract_slice %x[0, 2048] [145, 1024] [1, 1] : tensor<145x3072xf32> to tensor<145x1024xf32>
%23 = tensor.extract_slice %w[0, 2048, 0] [48, 1024, 16] [1, 1, 1] : tensor<48x3072x16xf32> to tensor<48x1024x16xf32>
%y_3 = like %y_1 of %22, %23, %y_2
func.return %y_3 : tensor<48x145x16xf32>
