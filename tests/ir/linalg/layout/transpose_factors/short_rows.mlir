// passes: transpose-factors
// Rows of four, three of each: results lie along the rows, and what is read, too.
builtin.module {
  func.func @network(%0: tensor<128x4xf32>) -> tensor<128x3xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[3, 4] inline "f4" "0000803f00000040000080bf000040400000803f00000040000080bf000040400000803f00000040000080bf00004040"> : tensor<3x4xf32>
    %2 = tensor.empty() : tensor<128x3xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<128x3xf32>) -> tensor<128x3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<128x4xf32>, tensor<3x4xf32>) outs(%4 : tensor<128x3xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<128x3xf32>
    func.return %5 : tensor<128x3xf32>
  }
}
// -- changes --
// erased: %5
...
%11 = tensor.empty() : tensor<3x128xf32>
%12 = arith.constant 0.000000e+00 : f32
%13 = linalg.fill ins(%12 : f32) outs(%11 : tensor<3x128xf32>) -> tensor<3x128xf32>
%14 = tensor.empty() : tensor<4x128xf32>
%15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%0 : tensor<128x4xf32>) outs(%14 : tensor<4x128xf32>) {
^bb0(%16: f32, %17: f32):
  linalg.yield %16 : f32
} -> tensor<4x128xf32>
%18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d0)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%15, %1 : tensor<4x128xf32>, tensor<3x4xf32>) outs(%13 : tensor<3x128xf32>) {
^bb0(%19: f32, %20: f32, %21: f32):
  %22 = arith.mulf %19, %20 : f32
  %23 = arith.addf %21, %22 : f32
  linalg.yield %23 : f32
} -> tensor<3x128xf32>
%24 = tensor.empty() : tensor<128x3xf32>
%25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layout"} ins(%18 : tensor<3x128xf32>) outs(%24 : tensor<128x3xf32>) {
^bb0(%26: f32, %27: f32):
  linalg.yield %26 : f32
} -> tensor<128x3xf32>
func.return %25 : tensor<128x3xf32>
