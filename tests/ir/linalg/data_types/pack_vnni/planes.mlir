// passes: pack-vnni
// Fires: three columns of the window and a zero, which meets what lies behind them.
builtin.module {
  func.func @network(%0: tensor<3x5x5xi8>) -> tensor<1x3x3x16xi32> {
    %1 = ncnn.constant <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1">> : tensor<1x3x3x3x16xi8>
    %2 = tensor.empty() : tensor<1x3x3x16xi32>
    %3 = arith.constant 0 : i32
    %4 = linalg.fill ins(%3 : i32) outs(%2 : tensor<1x3x3x16xi32>) -> tensor<1x3x3x16xi32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel"], doc = "conv"} ins(%0, %1 : tensor<3x5x5xi8>, tensor<1x3x3x3x16xi8>) outs(%4 : tensor<1x3x3x16xi32>) {
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
// erased: %1, %2, %3, %4
%13 = tensor.empty() : tensor<3x5x5xi8>
%14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "conv"} ins(%0 : tensor<3x5x5xi8>) outs(%13 : tensor<3x5x5xi8>) {
^bb0(%15: i8, %16: i8):
  %17 = arith.constant -128 : i8
  %18 = arith.addi %15, %17 : i8
  linalg.yield %18 : i8
} -> tensor<3x5x5xi8>
%19 = tensor.pad %14 low[0, 0, 0] high[0, 0, 1] {
^bb0(%20: index, %21: index, %22: index):
  %23 = arith.constant 0 : i8
  tensor.yield %23 : i8
} : tensor<3x5x5xi8> to tensor<3x5x6xi8>
%24 = ncnn.constant <[1, 3, 3, 1, 16, 4] blocked [3] 4 of <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1">>> : tensor<1x3x3x1x16x4xi8>
%25 = ncnn.constant <[1, 16] surplus [0, 4] of <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1">>> : tensor<1x16xi32>
%26 = tensor.empty() : tensor<1x3x3x16xi32>
%27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%25 : tensor<1x16xi32>) outs(%26 : tensor<1x3x3x16xi32>) {
^bb0(%28: i32, %29: i32):
  linalg.yield %28 : i32
} -> tensor<1x3x3x16xi32>
%5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + ((d5 * 4) + d7)))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d6, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%19, %24 : tensor<3x5x6xi8>, tensor<1x3x3x1x16x4xi8>) outs(%27 : tensor<1x3x3x16xi32>) {
^bb0(%6: i8, %7: i8, %8: i32):
  %30 = arith.extui %6 : i8 to i32
  %10 = arith.extsi %7 : i8 to i32
  %11 = arith.muli %30, %10 : i32
  %12 = arith.addi %8, %11 : i32
  linalg.yield %12 : i32
} -> tensor<1x3x3x16xi32>
...
