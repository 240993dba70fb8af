// passes: join-gathers
// Channels that a unit hands on are not moved; the parts of the second concat are those of the first, and a sum.
builtin.module {
  func.func @network(%0: tensor<2x1x1xf32>, %1: tensor<2x1x1xf32>) -> tensor<1x1x1xf32> attributes {inputs = ["input0", "input1"], outputs = ["output0"]} {
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
    %11 = arith.constant dense<[1, 3]> : tensor<2xindex>
    %12 = tensor.empty() : tensor<2x1x1xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%11 : tensor<2xindex>) outs(%12 : tensor<2x1x1xf32>) attrs =  {channels = array<i64: 1, 3>} {
    ^bb0(%14: index, %15: f32):
      %16 = linalg.index 1 : index
      %17 = linalg.index 2 : index
      %18 = tensor.extract %2[%14, %16, %17] : tensor<4x1x1xf32>
      linalg.yield %18 : f32
    } -> tensor<2x1x1xf32>
    %19 = ncnn.constant <[2, 2] random 7 0 1.0 0.0> : tensor<2x2xf32>
    %20 = tensor.empty() : tensor<2x1x1xf32>
    %21 = arith.constant 0.000000e+00 : f32
    %22 = linalg.fill ins(%21 : f32) outs(%20 : tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%13, %19 : tensor<2x1x1xf32>, tensor<2x2xf32>) outs(%22 : tensor<2x1x1xf32>) {
    ^bb0(%24: f32, %25: f32, %26: f32):
      %27 = arith.mulf %24, %25 : f32
      %28 = arith.addf %26, %27 : f32
      linalg.yield %28 : f32
    } -> tensor<2x1x1xf32>
    %29 = tensor.concat dim(0) %5, %23 : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<4x1x1xf32>
    %30 = arith.constant dense<[1, 3]> : tensor<2xindex>
    %31 = tensor.empty() : tensor<2x1x1xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%30 : tensor<2xindex>) outs(%31 : tensor<2x1x1xf32>) attrs =  {channels = array<i64: 1, 3>} {
    ^bb0(%33: index, %34: f32):
      %35 = linalg.index 1 : index
      %36 = linalg.index 2 : index
      %37 = tensor.extract %29[%33, %35, %36] : tensor<4x1x1xf32>
      linalg.yield %37 : f32
    } -> tensor<2x1x1xf32>
    %38 = ncnn.constant <[1, 2] random 7 0 1.0 0.0> : tensor<1x2xf32>
    %39 = tensor.empty() : tensor<1x1x1xf32>
    %40 = arith.constant 0.000000e+00 : f32
    %41 = linalg.fill ins(%40 : f32) outs(%39 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%32, %38 : tensor<2x1x1xf32>, tensor<1x2xf32>) outs(%41 : tensor<1x1x1xf32>) {
    ^bb0(%43: f32, %44: f32, %45: f32):
      %46 = arith.mulf %43, %44 : f32
      %47 = arith.addf %45, %46 : f32
      linalg.yield %47 : f32
    } -> tensor<1x1x1xf32>
    func.return %42 : tensor<1x1x1xf32>
  }
}
// -- changes --
// erased: %3, %4, %5, %29, %30, %31, %32
...
...
%48 = arith.constant dense<[1, 0]> : tensor<2xindex>
%49 = tensor.empty() : tensor<2x1x1xf32>
%50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%48 : tensor<2xindex>) outs(%49 : tensor<2x1x1xf32>) attrs =  {channels = array<i64: 1, 0>} {
^bb0(%51: index, %52: f32):
  %53 = linalg.index 1 : index
  %54 = linalg.index 2 : index
  %55 = tensor.extract %23[%51, %53, %54] : tensor<2x1x1xf32>
  linalg.yield %55 : f32
} -> tensor<2x1x1xf32>
%56 = tensor.concat dim(0) %2, %50 : (tensor<4x1x1xf32>, tensor<2x1x1xf32>) -> tensor<6x1x1xf32>
%57 = arith.constant dense<[2, 4]> : tensor<2xindex>
%58 = tensor.empty() : tensor<2x1x1xf32>
%59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%57 : tensor<2xindex>) outs(%58 : tensor<2x1x1xf32>) attrs =  {channels = array<i64: 2, 4>} {
^bb0(%60: index, %61: f32):
  %62 = linalg.index 1 : index
  %63 = linalg.index 2 : index
  %64 = tensor.extract %56[%60, %62, %63] : tensor<6x1x1xf32>
  linalg.yield %64 : f32
} -> tensor<2x1x1xf32>
...
%42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%59, %38 : tensor<2x1x1xf32>, tensor<1x2xf32>) outs(%41 : tensor<1x1x1xf32>) {
^bb0(%43: f32, %44: f32, %45: f32):
  %46 = arith.mulf %43, %44 : f32
  %47 = arith.addf %45, %46 : f32
  linalg.yield %47 : f32
} -> tensor<1x1x1xf32>
...
