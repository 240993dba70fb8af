// passes: hoist-gathers
// Not: a sum would compute more channels, if they were gathered in front of it.
builtin.module {
  func.func @network(%0: tensor<4x3x2xf32>) -> tensor<3x2x2xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = ncnn.constant <[4, 2] random 7 0 1.0 0.0> : tensor<4x2xf32>
    %2 = tensor.empty() : tensor<4x2x2xf32>
    %3 = arith.constant 0.000000e+00 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<4x2x2xf32>) -> tensor<4x2x2xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<4x3x2xf32>, tensor<4x2xf32>) outs(%4 : tensor<4x2x2xf32>) {
    ^bb0(%6: f32, %7: f32, %8: f32):
      %9 = arith.mulf %6, %7 : f32
      %10 = arith.addf %8, %9 : f32
      linalg.yield %10 : f32
    } -> tensor<4x2x2xf32>
    %11 = arith.constant dense<[1, 0, 3]> : tensor<3xindex>
    %12 = tensor.empty() : tensor<3x2x2xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%11 : tensor<3xindex>) outs(%12 : tensor<3x2x2xf32>) attrs =  {channels = array<i64: 1, 0, 3>} {
    ^bb0(%14: index, %15: f32):
      %16 = linalg.index 1 : index
      %17 = linalg.index 2 : index
      %18 = tensor.extract %5[%14, %16, %17] : tensor<4x2x2xf32>
      linalg.yield %18 : f32
    } -> tensor<3x2x2xf32>
    func.return %13 : tensor<3x2x2xf32>
  }
}
// -- changes --
// nothing
