// passes: join-gathers
// Not: another reader needs the gather by itself.
builtin.module {
  func.func @network(%0: tensor<2x1x1xf32>, %1: tensor<2x1x1xf32>) -> (tensor<2x1x1xf32>, tensor<2x1x1xf32>) attributes {inputs = ["input0", "input1"], outputs = ["output0", "output1"]} {
    %2 = tensor.concat dim(0) %0, %1 : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<4x1x1xf32>
    %3 = arith.constant dense<[0, 2]> : tensor<2xindex>
    %4 = tensor.empty() : tensor<2x1x1xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%3 : tensor<2xindex>) outs(%4 : tensor<2x1x1xf32>) attrs =  {channels = array<i64: 0, 2>} {
    ^bb0(%6: index, %7: f32):
      %8 = linalg.index 1 : index
      %9 = linalg.index 2 : index
      %10 = tensor.extract %2[%6, %8, %9] : tensor<4x1x1xf32>
      linalg.yield %10 : f32
    } -> tensor<2x1x1xf32>
    %11 = tensor.concat dim(0) %5, %1 : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<4x1x1xf32>
    %12 = arith.constant dense<[1, 3]> : tensor<2xindex>
    %13 = tensor.empty() : tensor<2x1x1xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%12 : tensor<2xindex>) outs(%13 : tensor<2x1x1xf32>) attrs =  {channels = array<i64: 1, 3>} {
    ^bb0(%15: index, %16: f32):
      %17 = linalg.index 1 : index
      %18 = linalg.index 2 : index
      %19 = tensor.extract %11[%15, %17, %18] : tensor<4x1x1xf32>
      linalg.yield %19 : f32
    } -> tensor<2x1x1xf32>
    func.return %5, %14 : tensor<2x1x1xf32>, tensor<2x1x1xf32>
  }
}
// -- changes --
// nothing
