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
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<3x5x5xi8>) -> tensor<1x3x3x16xi32> {
    %1 = tensor.empty() : tensor<3x5x5xi8>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "conv"} ins(%0 : tensor<3x5x5xi8>) outs(%1 : tensor<3x5x5xi8>) {
    ^bb0(%3: i8, %4: i8):
      %5 = arith.constant -128 : i8
      %6 = arith.addi %3, %5 : i8
      linalg.yield %6 : i8
    } -> tensor<3x5x5xi8>
    %7 = tensor.pad %2 low[0, 0, 0] high[0, 0, 1] {
    ^bb0(%8: index, %9: index, %10: index):
      %11 = arith.constant 0 : i8
      tensor.yield %11 : i8
    } : tensor<3x5x5xi8> to tensor<3x5x6xi8>
    %12 = ncnn.constant <[1, 3, 3, 1, 16, 4] blocked [3] 4 of <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1">>> : tensor<1x3x3x1x16x4xi8>
    %13 = ncnn.constant <[1, 16] surplus [0, 4] of <[1, 3, 3, 3, 16] blocked [0] 16 of <[16, 3, 3, 3] random 7 0 1.0 0.0 "i1">>> : tensor<1x16xi32>
    %14 = tensor.empty() : tensor<1x3x3x16xi32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"], doc = "conv"} ins(%13 : tensor<1x16xi32>) outs(%14 : tensor<1x3x3x16xi32>) {
    ^bb0(%16: i32, %17: i32):
      linalg.yield %16 : i32
    } -> tensor<1x3x3x16xi32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, (d1 + d4), (d2 + ((d5 * 4) + d7)))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d3, d4, d5, d6, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d6)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction", "parallel", "reduction"], doc = "conv"} ins(%7, %12 : tensor<3x5x6xi8>, tensor<1x3x3x1x16x4xi8>) outs(%15 : tensor<1x3x3x16xi32>) {
    ^bb0(%19: i8, %20: i8, %21: i32):
      %22 = arith.extui %19 : i8 to i32
      %23 = arith.extsi %20 : i8 to i32
      %24 = arith.muli %22, %23 : i32
      %25 = arith.addi %21, %24 : i32
      linalg.yield %25 : i32
    } -> tensor<1x3x3x16xi32>
    func.return %18 : tensor<1x3x3x16xi32>
  }
}
