// passes: split-quads
// Not: 7 elements do not fall into fours.
builtin.module {
  func.func @network(%0: tensor<7xi8>) -> tensor<8xi32> {
    %1 = ncnn.constant <[8, 7] random 7 0 1.0 0.0 "i1"> : tensor<8x7xi8>
    %2 = tensor.empty() : tensor<8xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<8xi32>) -> tensor<8xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "conv"} ins(%0, %1 : tensor<7xi8>, tensor<8x7xi8>) outs(%4 : tensor<8xi32>) {
    ^bb0(%6: i8, %7: i8, %8: i32):
      %9 = arith.extsi %6 : i8 to i32
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.muli %9, %10 : i32
      %12 = arith.addi %8, %11 : i32
      linalg.yield %12 : i32
    } -> tensor<8xi32>
    func.return %5 : tensor<8xi32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<7xi8>) -> tensor<8xi32> {
    %1 = ncnn.constant <[8, 7] random 7 0 1.0 0.0 "i1"> : tensor<8x7xi8>
    %2 = tensor.empty() : tensor<8xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<8xi32>) -> tensor<8xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "conv"} ins(%0, %1 : tensor<7xi8>, tensor<8x7xi8>) outs(%4 : tensor<8xi32>) {
    ^bb0(%6: i8, %7: i8, %8: i32):
      %9 = arith.extsi %6 : i8 to i32
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.muli %9, %10 : i32
      %12 = arith.addi %8, %11 : i32
      linalg.yield %12 : i32
    } -> tensor<8xi32>
    func.return %5 : tensor<8xi32>
  }
}
