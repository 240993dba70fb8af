// passes: tile-attention
// Four times as many scores as stay in a cache, behind a mask.
builtin.module {
  func.func @network(%0: tensor<1x1024x2xf32>, %1: tensor<1x1024x2xf32>, %2: tensor<1x1024x2xf32>, %3: tensor<1024x1024xf32>) -> tensor<1x1024x2xf32> attributes {inputs = ["input0", "input1", "input2", "input3"], outputs = ["output0"]} {
    %4 = tensor.empty() : tensor<1x1024x1024xf32>
    %5 = arith.constant 0.000000e+00 : f32
    %6 = linalg.fill ins(%5 : f32) outs(%4 : tensor<1x1024x1024xf32>) -> tensor<1x1024x1024xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<1x1024x2xf32>, tensor<1x1024x2xf32>) outs(%6 : tensor<1x1024x1024xf32>) {
    ^bb0(%8: f32, %9: f32, %10: f32):
      %11 = arith.mulf %8, %9 : f32
      %12 = arith.addf %10, %11 : f32
      linalg.yield %12 : f32
    } -> tensor<1x1024x1024xf32>
    %13 = tensor.empty() : tensor<1x1024x1024xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%7, %3 : tensor<1x1024x1024xf32>, tensor<1024x1024xf32>) outs(%13 : tensor<1x1024x1024xf32>) {
    ^bb0(%15: f32, %16: f32, %17: f32):
      %18 = arith.constant 5.000000e-01 : f32
      %19 = arith.mulf %15, %18 : f32
      %20 = arith.addf %19, %16 : f32
      linalg.yield %20 : f32
    } -> tensor<1x1024x1024xf32>
    %21 = tensor.empty() : tensor<1x1024xf32>
    %22 = arith.constant 0xff800000 : f32
    %23 = linalg.fill ins(%22 : f32) outs(%21 : tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%14 : tensor<1x1024x1024xf32>) outs(%23 : tensor<1x1024xf32>) {
    ^bb0(%25: f32, %26: f32):
      %27 = arith.maxnumf %26, %25 : f32
      linalg.yield %27 : f32
    } -> tensor<1x1024xf32>
    %28 = tensor.empty() : tensor<1x1024x1024xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%14, %24 : tensor<1x1024x1024xf32>, tensor<1x1024xf32>) outs(%28 : tensor<1x1024x1024xf32>) {
    ^bb0(%30: f32, %31: f32, %32: f32):
      %33 = arith.subf %30, %31 : f32
      %34 = math.exp %33 : f32
      linalg.yield %34 : f32
    } -> tensor<1x1024x1024xf32>
    %35 = tensor.empty() : tensor<1x1024xf32>
    %36 = arith.constant 0.000000e+00 : f32
    %37 = linalg.fill ins(%36 : f32) outs(%35 : tensor<1x1024xf32>) -> tensor<1x1024xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%29 : tensor<1x1024x1024xf32>) outs(%37 : tensor<1x1024xf32>) {
    ^bb0(%39: f32, %40: f32):
      %41 = arith.addf %40, %39 : f32
      linalg.yield %41 : f32
    } -> tensor<1x1024xf32>
    %42 = tensor.empty() : tensor<1x1024x2xf32>
    %43 = arith.constant 0.000000e+00 : f32
    %44 = linalg.fill ins(%43 : f32) outs(%42 : tensor<1x1024x2xf32>) -> tensor<1x1024x2xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%29, %2 : tensor<1x1024x1024xf32>, tensor<1x1024x2xf32>) outs(%44 : tensor<1x1024x2xf32>) {
    ^bb0(%46: f32, %47: f32, %48: f32):
      %49 = arith.mulf %46, %47 : f32
      %50 = arith.addf %48, %49 : f32
      linalg.yield %50 : f32
    } -> tensor<1x1024x2xf32>
    %51 = tensor.empty() : tensor<1x1024x2xf32>
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%45, %38 : tensor<1x1024x2xf32>, tensor<1x1024xf32>) outs(%51 : tensor<1x1024x2xf32>) {
    ^bb0(%53: f32, %54: f32, %55: f32):
      %56 = arith.divf %53, %54 : f32
      linalg.yield %56 : f32
    } -> tensor<1x1024x2xf32>
    func.return %52 : tensor<1x1024x2xf32>
  }
}
// -- changes --
...
%7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<1x1024x2xf32>, tensor<1x1024x2xf32>) outs(%6 : tensor<1x1024x1024xf32>) attrs =  {tile = array<i64: 1, 256>} {
^bb0(%8: f32, %9: f32, %10: f32):
  %11 = arith.mulf %8, %9 : f32
  %12 = arith.addf %10, %11 : f32
  linalg.yield %12 : f32
} -> tensor<1x1024x1024xf32>
...
