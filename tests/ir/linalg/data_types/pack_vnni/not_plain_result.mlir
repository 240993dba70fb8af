// passes: pack-vnni
// Not: results side by side read other data.
builtin.module {
  func.func @network(%0: tensor<3x5x5xi8>) -> tensor<16x3x3xi32> {
    %1 = ncnn.constant <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1"> : tensor<16x3x3x3xi8>
    %2 = tensor.empty() : tensor<16x3x3xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<16x3x3xi32>) -> tensor<16x3x3xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "conv"} ins(%0, %1 : tensor<3x5x5xi8>, tensor<16x3x3x3xi8>) outs(%4 : tensor<16x3x3xi32>) {
    ^bb0(%6: i8, %7: i8, %8: i32):
      %9 = arith.extsi %6 : i8 to i32
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.muli %9, %10 : i32
      %12 = arith.addi %8, %11 : i32
      linalg.yield %12 : i32
    } -> tensor<16x3x3xi32>
    func.return %5 : tensor<16x3x3xi32>
  }
}
// -- changes --
// nothing
