// passes: fold-scale-into-weights
builtin.module {
  func.func @network(%x: tensor<8x30xf32>, %s: tensor<8xf32>) -> (tensor<2x30xf32>, tensor<2x3xf32>) {
    %0 = tensor.empty() : tensor<8x30xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "scale"} ins(%x, %s : tensor<8x30xf32>, tensor<8xf32>) outs(%0 : tensor<8x30xf32>) {
    ^bb0(%1: f32, %2: f32, %3: f32):
      %4 = arith.mulf %1, %2 : f32
      linalg.yield %4 : f32
    } -> tensor<8x30xf32>
    %w = ncnn.constant <[2, 8] random 7 0 1.0 0.0> : tensor<2x8xf32>
    %5 = tensor.empty() : tensor<2x30xf32>
    %6 = arith.constant 0.0 : f32
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<2x30xf32>) -> tensor<2x30xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "project"} ins(%m, %w : tensor<8x30xf32>, tensor<2x8xf32>) outs(%7 : tensor<2x30xf32>) {
    ^bb0(%8: f32, %9: f32, %10: f32):
      %11 = arith.mulf %8, %9 : f32
      %12 = arith.addf %10, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<2x30xf32>
    %13 = tensor.extract_slice %x[0, 0] [8, 3] [1, 1] : tensor<8x30xf32> to tensor<8x3xf32>
    %14 = tensor.empty() : tensor<8x3xf32>
    %few = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "scale"} ins(%13, %s : tensor<8x3xf32>, tensor<8xf32>) outs(%14 : tensor<8x3xf32>) {
    ^bb0(%15: f32, %16: f32, %17: f32):
      %18 = arith.mulf %15, %16 : f32
      linalg.yield %18 : f32
    } -> tensor<8x3xf32>
    %19 = tensor.empty() : tensor<2x3xf32>
    %20 = linalg.fill ins(%6 : f32) outs(%19 : tensor<2x3xf32>) -> tensor<2x3xf32>
    %z = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "project"} ins(%few, %w : tensor<8x3xf32>, tensor<2x8xf32>) outs(%20 : tensor<2x3xf32>) {
    ^bb0(%21: f32, %22: f32, %23: f32):
      %24 = arith.mulf %21, %22 : f32
      %25 = arith.addf %23, %24 : f32
      linalg.yield %25 : f32
    } -> tensor<2x3xf32>
    func.return %y, %z : tensor<2x30xf32>, tensor<2x3xf32>
  }
}
// -- changes --
// erased: %0, %m, %14, %few
...
%26 = tensor.empty() : tensor<2x8xf32>
%27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "scale"} ins(%w, %s : tensor<2x8xf32>, tensor<8xf32>) outs(%26 : tensor<2x8xf32>) {
^bb0(%28: f32, %29: f32, %30: f32):
  %31 = arith.mulf %28, %29 : f32
  linalg.yield %31 : f32
} -> tensor<2x8xf32>
%y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "project"} ins(%x, %27 : tensor<8x30xf32>, tensor<2x8xf32>) outs(%7 : tensor<2x30xf32>) {
^bb0(%8: f32, %9: f32, %10: f32):
  %11 = arith.mulf %8, %9 : f32
  %12 = arith.addf %10, %11 : f32
  linalg.yield %12 : f32
} -> tensor<2x30xf32>
...
...
%z = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "project"} ins(%13, %27 : tensor<8x3xf32>, tensor<2x8xf32>) outs(%20 : tensor<2x3xf32>) {
^bb0(%21: f32, %22: f32, %23: f32):
  %24 = arith.mulf %21, %22 : f32
  %25 = arith.addf %23, %24 : f32
  linalg.yield %25 : f32
} -> tensor<2x3xf32>
...
