// passes: pack-vnni
// Not: the second factor is no constant, to be put into another order.
builtin.module {
  func.func @network(%0: tensor<8x8xi8>) -> tensor<4x4xi32> {
    %1 = tensor.extract_slice %0[0, 0] [4, 8] [1, 1] : tensor<8x8xi8> to tensor<4x8xi8>
    %2 = tensor.extract_slice %0[4, 0] [4, 8] [1, 1] : tensor<8x8xi8> to tensor<4x8xi8>
    %3 = tensor.empty() : tensor<4x4xi32>
    %4 = arith.constant 0 : i32
    %5 = linalg.fill ins(%4 : i32) outs(%3 : tensor<4x4xi32>) -> tensor<4x4xi32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "conv"} ins(%1, %2 : tensor<4x8xi8>, tensor<4x8xi8>) outs(%5 : tensor<4x4xi32>) {
    ^bb0(%7: i8, %8: i8, %9: i32):
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.extsi %8 : i8 to i32
      %12 = arith.muli %10, %11 : i32
      %13 = arith.addi %9, %12 : i32
      linalg.yield %13 : i32
    } -> tensor<4x4xi32>
    func.return %6 : tensor<4x4xi32>
  }
}
// -- changes --
// nothing
