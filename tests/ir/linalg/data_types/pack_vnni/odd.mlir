// passes: pack-vnni
// Fires: 7 elements and a zero, behind both factors.
builtin.module {
  func.func @network(%0: tensor<7xi8>) -> tensor<16xi32> {
    %1 = ncnn.constant <[16, 7] random 7 0 1.0 0.0 "i1"> : tensor<16x7xi8>
    %2 = tensor.empty() : tensor<16xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<16xi32>) -> tensor<16xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "conv"} ins(%0, %1 : tensor<7xi8>, tensor<16x7xi8>) outs(%4 : tensor<16xi32>) {
    ^bb0(%6: i8, %7: i8, %8: i32):
      %9 = arith.extsi %6 : i8 to i32
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.muli %9, %10 : i32
      %12 = arith.addi %8, %11 : i32
      linalg.yield %12 : i32
    } -> tensor<16xi32>
    func.return %5 : tensor<16xi32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<7xi8>) -> tensor<16xi32> {
    %1 = tensor.pad %0 low[0] high[1] {
    ^bb0(%2: index):
      %3 = arith.constant 0 : i8
      tensor.yield %3 : i8
    } : tensor<7xi8> to tensor<8xi8>
    %4 = ncnn.constant <[16, 2, 4] blocked [1] 4 of <[16, 7] random 7 0 1.0 0.0 "i1">> : tensor<16x2x4xi8>
    %5 = tensor.empty() : tensor<16xi32>
    %6 = arith.constant 0 : i32
    %7 = linalg.fill ins(%6 : i32) outs(%5 : tensor<16xi32>) -> tensor<16xi32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (((d1 * 4) + d2))>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"], doc = "conv"} ins(%1, %4 : tensor<8xi8>, tensor<16x2x4xi8>) outs(%7 : tensor<16xi32>) {
    ^bb0(%9: i8, %10: i8, %11: i32):
      %12 = arith.extsi %9 : i8 to i32
      %13 = arith.extsi %10 : i8 to i32
      %14 = arith.muli %12, %13 : i32
      %15 = arith.addi %11, %14 : i32
      linalg.yield %15 : i32
    } -> tensor<16xi32>
    func.return %8 : tensor<16xi32>
  }
}
