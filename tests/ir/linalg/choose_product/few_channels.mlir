// passes: choose-product
builtin.module {
  func.func @network(%data: tensor<64x28x28xf32>) -> tensor<64x28x28xf32> attributes {outputs = ["pw"], inputs = ["data"]} {
    %0 = ncnn.constant <[64] random 1 1 0.1 0.0> : tensor<64xf32>
    %1 = tensor.empty() : tensor<64x28x28xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%0 : tensor<64xf32>) outs(%1 : tensor<64x28x28xf32>) {
    ^bb0(%3: f32, %4: f32):
      linalg.yield %3 : f32
    } -> tensor<64x28x28xf32>
    %5 = ncnn.constant <[64, 64, 1, 1] random 1 0 0.125 0.0> : tensor<64x64x1x1xf32>
    %6 = tensor.collapse_shape %5 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<64x64x1x1xf32> into tensor<64x64xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%data, %6 : tensor<64x28x28xf32>, tensor<64x64xf32>) outs(%2 : tensor<64x28x28xf32>) {
    ^bb0(%8: f32, %9: f32, %10: f32):
      %11 = arith.mulf %8, %9 : f32
      %12 = arith.addf %10, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<64x28x28xf32>
    %13 = tensor.empty() : tensor<64x28x28xf32>
    %pw = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%7 : tensor<64x28x28xf32>) outs(%13 : tensor<64x28x28xf32>) {
    ^bb0(%14: f32, %15: f32):
      %16 = arith.constant 0.000000e+00 : f32
      %17 = arith.maxnumf %14, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<64x28x28xf32>
    func.return %pw : tensor<64x28x28xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%data: tensor<64x28x28xf32>) -> tensor<64x28x28xf32> attributes {outputs = ["pw"], inputs = ["data"]} {
    %0 = ncnn.constant <[64] random 1 1 0.1 0.0> : tensor<64xf32>
    %1 = tensor.empty() : tensor<64x28x28xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%0 : tensor<64xf32>) outs(%1 : tensor<64x28x28xf32>) {
    ^bb0(%3: f32, %4: f32):
      linalg.yield %3 : f32
    } -> tensor<64x28x28xf32>
    %5 = ncnn.constant <[64, 64, 1, 1] random 1 0 0.125 0.0> : tensor<64x64x1x1xf32>
    %6 = tensor.collapse_shape %5 [[0 : i64], [1 : i64, 2 : i64, 3 : i64]] : tensor<64x64x1x1xf32> into tensor<64x64xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "pw"} ins(%data, %6 : tensor<64x28x28xf32>, tensor<64x64xf32>) outs(%2 : tensor<64x28x28xf32>) {
    ^bb0(%8: f32, %9: f32, %10: f32):
      %11 = arith.mulf %8, %9 : f32
      %12 = arith.addf %10, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<64x28x28xf32>
    %13 = tensor.empty() : tensor<64x28x28xf32>
    %pw = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "pw"} ins(%7 : tensor<64x28x28xf32>) outs(%13 : tensor<64x28x28xf32>) {
    ^bb0(%14: f32, %15: f32):
      %16 = arith.constant 0.000000e+00 : f32
      %17 = arith.maxnumf %14, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<64x28x28xf32>
    func.return %pw : tensor<64x28x28xf32>
  }
}
