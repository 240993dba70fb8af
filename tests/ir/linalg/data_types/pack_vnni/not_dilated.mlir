// passes: pack-vnni
// Not: neighbours along the channels lie apart, and so do those under a dilation.
builtin.module {
  func.func @network(%0: tensor<3x7x7xi8>) -> tensor<1x3x3x16xi32> {
    %1 = ncnn.constant <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1">> : tensor<1x3x3x3x16xi8>
    %2 = tensor.empty() : tensor<1x3x3x16xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<1x3x3x16xi32>) -> tensor<1x3x3x16xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, (d1 + (d4 * 2)), (d2 + (d5 * 2)))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"], doc = "conv"} ins(%0, %1 : tensor<3x7x7xi8>, tensor<1x3x3x3x16xi8>) outs(%4 : tensor<1x3x3x16xi32>) {
    ^bb0(%6: i8, %7: i8, %8: i32):
      %9 = arith.extsi %6 : i8 to i32
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.muli %9, %10 : i32
      %12 = arith.addi %8, %11 : i32
      linalg.yield %12 : i32
    } -> tensor<1x3x3x16xi32>
    func.return %5 : tensor<1x3x3x16xi32>
  }
}
// -- changes --
// nothing
