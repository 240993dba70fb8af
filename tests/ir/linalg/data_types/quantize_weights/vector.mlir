// passes: quantize-weights
// Fires: one vector is multiplied with weights that a first-level cache does not hold.
builtin.module {
  func.func @network(%x: tensor<1x256xf32>) -> (tensor<4x1x16xf32>) {
    %w = ncnn.constant <[4, 256, 16] blocked [0] 16 of <[64, 256] random 7 0 1.0 0.0>> : tensor<4x256x16xf32>
    %0 = tensor.empty() : tensor<4x1x16xf32>
    %1 = arith.constant 0.0 : f32
    %2 = linalg.fill ins(%1 : f32) outs(%0 : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "product"} ins(%x, %w : tensor<1x256xf32>, tensor<4x256x16xf32>) outs(%2 : tensor<4x1x16xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.mulf %3, %4 : f32
      %7 = arith.addf %5, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<4x1x16xf32>
    func.return %y : tensor<4x1x16xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<1x256xf32>) -> tensor<4x1x16xf32> {
    %0 = ncnn.constant <[4, 256, 20] short [0, 2] of <[4, 256, 16] blocked [0] 16 of <[64, 256] random 7 0 1.0 0.0>>> : tensor<4x256x20xi20>
    %1 = tensor.extract_slice %0[0, 0, 0] [4, 256, 16] [1, 1, 1] : tensor<4x256x20xi20> to tensor<4x256x16xi20>
    %2 = ncnn.constant <[4, 16] scales [0, 2] of <[4, 256, 16] blocked [0] 16 of <[64, 256] random 7 0 1.0 0.0>>> : tensor<4x16xf32>
    %3 = tensor.empty() : tensor<4x1x16xf32>
    %4 = arith.constant 0.000000e+00 : f32
    %5 = linalg.fill ins(%4 : f32) outs(%3 : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "product"} ins(%x, %1 : tensor<1x256xf32>, tensor<4x256x16xi20>) outs(%5 : tensor<4x1x16xf32>) {
    ^bb0(%7: f32, %8: i20, %9: f32):
      %10 = arith.extui %8 : i20 to i32
      %11 = arith.constant 3 : i32
      %12 = arith.shli %10, %11 : i32
      %13 = arith.constant 1073741824 : i32
      %14 = arith.addi %12, %13 : i32
      %15 = arith.bitcast %14 : i32 to f32
      %16 = arith.constant 3.000000e+00 : f32
      %17 = arith.subf %15, %16 : f32
      %18 = arith.mulf %7, %17 : f32
      %19 = arith.addf %9, %18 : f32
      linalg.yield %19 : f32
    } -> tensor<4x1x16xf32>
    %20 = tensor.empty() : tensor<4x1x16xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "product"} ins(%6, %2 : tensor<4x1x16xf32>, tensor<4x16xf32>) outs(%20 : tensor<4x1x16xf32>) {
    ^bb0(%21: f32, %22: f32, %23: f32):
      %24 = arith.mulf %21, %22 : f32
      linalg.yield %24 : f32
    } -> tensor<4x1x16xf32>
    func.return %y : tensor<4x1x16xf32>
  }
}
