// passes: tile-attention
// refused: tile-attention layer: all 256 scores stay in a cache
builtin.module {
  func.func @network(%0: tensor<1x16x2xf32>, %1: tensor<1x16x2xf32>, %2: tensor<1x16x2xf32>) -> tensor<1x16x2xf32> attributes {inputs = ["input0", "input1", "input2"], outputs = ["output0"]} {
    %3 = tensor.empty() : tensor<1x16x16xf32>
    %4 = arith.constant 0.000000e+00 : f32
    %5 = linalg.fill ins(%4 : f32) outs(%3 : tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%0, %1 : tensor<1x16x2xf32>, tensor<1x16x2xf32>) outs(%5 : tensor<1x16x16xf32>) {
    ^bb0(%7: f32, %8: f32, %9: f32):
      %10 = arith.mulf %7, %8 : f32
      %11 = arith.addf %9, %10 : f32
      linalg.yield %11 : f32
    } -> tensor<1x16x16xf32>
    %12 = tensor.empty() : tensor<1x16x16xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%6 : tensor<1x16x16xf32>) outs(%12 : tensor<1x16x16xf32>) {
    ^bb0(%14: f32, %15: f32):
      %16 = arith.constant 5.000000e-01 : f32
      %17 = arith.mulf %14, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<1x16x16xf32>
    %18 = tensor.empty() : tensor<1x16xf32>
    %19 = arith.constant 0xff800000 : f32
    %20 = linalg.fill ins(%19 : f32) outs(%18 : tensor<1x16xf32>) -> tensor<1x16xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%13 : tensor<1x16x16xf32>) outs(%20 : tensor<1x16xf32>) {
    ^bb0(%22: f32, %23: f32):
      %24 = arith.maxnumf %23, %22 : f32
      linalg.yield %24 : f32
    } -> tensor<1x16xf32>
    %25 = tensor.empty() : tensor<1x16x16xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%13, %21 : tensor<1x16x16xf32>, tensor<1x16xf32>) outs(%25 : tensor<1x16x16xf32>) {
    ^bb0(%27: f32, %28: f32, %29: f32):
      %30 = arith.subf %27, %28 : f32
      %31 = math.exp %30 : f32
      linalg.yield %31 : f32
    } -> tensor<1x16x16xf32>
    %32 = tensor.empty() : tensor<1x16xf32>
    %33 = arith.constant 0.000000e+00 : f32
    %34 = linalg.fill ins(%33 : f32) outs(%32 : tensor<1x16xf32>) -> tensor<1x16xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%26 : tensor<1x16x16xf32>) outs(%34 : tensor<1x16xf32>) {
    ^bb0(%36: f32, %37: f32):
      %38 = arith.addf %37, %36 : f32
      linalg.yield %38 : f32
    } -> tensor<1x16xf32>
    %39 = tensor.empty() : tensor<1x16x2xf32>
    %40 = arith.constant 0.000000e+00 : f32
    %41 = linalg.fill ins(%40 : f32) outs(%39 : tensor<1x16x2xf32>) -> tensor<1x16x2xf32>
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%26, %2 : tensor<1x16x16xf32>, tensor<1x16x2xf32>) outs(%41 : tensor<1x16x2xf32>) {
    ^bb0(%43: f32, %44: f32, %45: f32):
      %46 = arith.mulf %43, %44 : f32
      %47 = arith.addf %45, %46 : f32
      linalg.yield %47 : f32
    } -> tensor<1x16x2xf32>
    %48 = tensor.empty() : tensor<1x16x2xf32>
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%42, %35 : tensor<1x16x2xf32>, tensor<1x16xf32>) outs(%48 : tensor<1x16x2xf32>) {
    ^bb0(%50: f32, %51: f32, %52: f32):
      %53 = arith.divf %50, %51 : f32
      linalg.yield %53 : f32
    } -> tensor<1x16x2xf32>
    func.return %49 : tensor<1x16x2xf32>
  }
}
// -- changes --
// nothing
