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
// -- changes --
// erased: %1
%13 = tensor.pad %0 low[0] high[1] {
^bb0(%14: index):
  %15 = arith.constant 0 : i8
  tensor.yield %15 : i8
} : tensor<7xi8> to tensor<8xi8>
%16 = ncnn.constant <[16, 2, 4] blocked [1] 4 of <[16, 7] random 7 0 1.0 0.0 "i1">> : tensor<16x2x4xi8>
...
%5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (((d1 * 4) + d2))>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"], doc = "conv"} ins(%13, %16 : tensor<8xi8>, tensor<16x2x4xi8>) outs(%4 : tensor<16xi32>) {
^bb0(%6: i8, %7: i8, %8: i32):
  %9 = arith.extsi %6 : i8 to i32
  %10 = arith.extsi %7 : i8 to i32
  %11 = arith.muli %9, %10 : i32
  %12 = arith.addi %8, %11 : i32
  linalg.yield %12 : i32
} -> tensor<16xi32>
...
