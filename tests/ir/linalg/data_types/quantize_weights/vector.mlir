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
// -- changes --
// erased: %w, %0, %1, %2, %y
%8 = ncnn.constant <[4, 256, 20] short [0, 2] of <[4, 256, 16] blocked [0] 16 of <[64, 256] random 7 0 1.0 0.0>>> : tensor<4x256x20xi20>
%9 = tensor.extract_slice %8[0, 0, 0] [4, 256, 16] [1, 1, 1] : tensor<4x256x20xi20> to tensor<4x256x16xi20>
%10 = ncnn.constant <[4, 16] scales [0, 2] of <[4, 256, 16] blocked [0] 16 of <[64, 256] random 7 0 1.0 0.0>>> : tensor<4x16xf32>
%11 = tensor.empty() : tensor<4x1x16xf32>
%12 = arith.constant 0.000000e+00 : f32
%13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
%14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"], doc = "product"} ins(%x, %9 : tensor<1x256xf32>, tensor<4x256x16xi20>) outs(%13 : tensor<4x1x16xf32>) {
^bb0(%15: f32, %16: i20, %17: f32):
  %18 = arith.extui %16 : i20 to i32
  %19 = arith.constant 3 : i32
  %20 = arith.shli %18, %19 : i32
  %21 = arith.constant 1073741824 : i32
  %22 = arith.addi %20, %21 : i32
  %23 = arith.bitcast %22 : i32 to f32
  %24 = arith.constant 3.000000e+00 : f32
  %25 = arith.subf %23, %24 : f32
  %26 = arith.mulf %15, %25 : f32
  %27 = arith.addf %17, %26 : f32
  linalg.yield %27 : f32
} -> tensor<4x1x16xf32>
%28 = tensor.empty() : tensor<4x1x16xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "product"} ins(%14, %10 : tensor<4x1x16xf32>, tensor<4x16xf32>) outs(%28 : tensor<4x1x16xf32>) {
^bb0(%29: f32, %30: f32, %31: f32):
  %32 = arith.mulf %29, %30 : f32
  linalg.yield %32 : f32
} -> tensor<4x1x16xf32>
func.return %y_1 : tensor<4x1x16xf32>
