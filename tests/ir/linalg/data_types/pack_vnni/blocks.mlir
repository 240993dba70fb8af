// passes: pack-vnni
// Fires: the 16 channels of a block are 4 x 4. The weights behind channel 24 are zeros.
builtin.module {
  func.func @network(%0: tensor<2x5x5x16xi8>) -> tensor<2x3x3x16xi32> {
    %1 = ncnn.constant <[2, 2, 3, 3, 16, 16] blocked [1, 0] 16 of <[32, 24, 3, 3] random 7 0 1.0 0.0 "i1">> : tensor<2x2x3x3x16x16xi8>
    %2 = tensor.empty() : tensor<2x3x3x16xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<2x3x3x16xi32>) -> tensor<2x3x3x16xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + d5), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d6, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d7)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction", "parallel"], doc = "conv"} ins(%0, %1 : tensor<2x5x5x16xi8>, tensor<2x2x3x3x16x16xi8>) outs(%4 : tensor<2x3x3x16xi32>) attrs =  {valid_extents = [[3 : i64, 6 : i64, 24 : i64]]} {
    ^bb0(%6: i8, %7: i8, %8: i32):
      %9 = arith.extsi %6 : i8 to i32
      %10 = arith.extsi %7 : i8 to i32
      %11 = arith.muli %9, %10 : i32
      %12 = arith.addi %8, %11 : i32
      linalg.yield %12 : i32
    } -> tensor<2x3x3x16xi32>
    func.return %5 : tensor<2x3x3x16xi32>
  }
}
// -- changes --
// erased: %1, %2, %3, %4
%13 = tensor.empty() : tensor<2x5x5x16xi8>
%14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%0 : tensor<2x5x5x16xi8>) outs(%13 : tensor<2x5x5x16xi8>) {
^bb0(%15: i8, %16: i8):
  %17 = arith.constant -128 : i8
  %18 = arith.addi %15, %17 : i8
  linalg.yield %18 : i8
} -> tensor<2x5x5x16xi8>
%19 = ncnn.constant <[2, 2, 3, 3, 4, 16, 4] blocked [4] 4 of <[2, 2, 3, 3, 16, 16] blocked [1, 0] 16 of <[32, 24, 3, 3] random 7 0 1.0 0.0 "i1">>> : tensor<2x2x3x3x4x16x4xi8>
%20 = ncnn.constant <[2, 16] surplus [0, 5] of <[2, 2, 3, 3, 16, 16] blocked [1, 0] 16 of <[32, 24, 3, 3] random 7 0 1.0 0.0 "i1">>> : tensor<2x16xi32>
%21 = tensor.empty() : tensor<2x3x3x16xi32>
%22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%20 : tensor<2x16xi32>) outs(%21 : tensor<2x3x3x16xi32>) {
^bb0(%23: i32, %24: i32):
  linalg.yield %23 : i32
} -> tensor<2x3x3x16xi32>
%5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d3, (d1 + d4), (d2 + d5), ((d6 * 4) + d8))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d3, d4, d5, d6, d7, d8)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d7)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%14, %19 : tensor<2x5x5x16xi8>, tensor<2x2x3x3x4x16x4xi8>) outs(%22 : tensor<2x3x3x16xi32>) {
^bb0(%6: i8, %7: i8, %8: i32):
  %25 = arith.extui %6 : i8 to i32
  %10 = arith.extsi %7 : i8 to i32
  %11 = arith.muli %25, %10 : i32
  %12 = arith.addi %8, %11 : i32
  linalg.yield %12 : i32
} -> tensor<2x3x3x16xi32>
...
