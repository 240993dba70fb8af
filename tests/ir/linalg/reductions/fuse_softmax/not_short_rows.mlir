// passes: fuse-softmax
builtin.module {
  func.func @network(%0: tensor<10x20xf32>) -> tensor<10x20xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<10xf32>
    %2 = arith.constant 0xff800000 : f32
    %3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<10xf32>) -> tensor<10xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "layer"} ins(%0 : tensor<10x20xf32>) outs(%3 : tensor<10xf32>) {
    ^bb0(%5: f32, %6: f32):
      %7 = arith.maxnumf %6, %5 : f32
      linalg.yield %7 : f32
    } -> tensor<10xf32>
    %8 = tensor.empty() : tensor<10x20xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layer"} ins(%0, %4 : tensor<10x20xf32>, tensor<10xf32>) outs(%8 : tensor<10x20xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32):
      %13 = arith.subf %10, %11 : f32
      %14 = math.exp %13 : f32
      linalg.yield %14 : f32
    } -> tensor<10x20xf32>
    %15 = tensor.empty() : tensor<10xf32>
    %16 = arith.constant 0.000000e+00 : f32
    %17 = linalg.fill ins(%16 : f32) outs(%15 : tensor<10xf32>) -> tensor<10xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "layer"} ins(%9 : tensor<10x20xf32>) outs(%17 : tensor<10xf32>) {
    ^bb0(%19: f32, %20: f32):
      %21 = arith.addf %20, %19 : f32
      linalg.yield %21 : f32
    } -> tensor<10xf32>
    %22 = tensor.empty() : tensor<10x20xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layer"} ins(%9, %18 : tensor<10x20xf32>, tensor<10xf32>) outs(%22 : tensor<10x20xf32>) {
    ^bb0(%24: f32, %25: f32, %26: f32):
      %27 = arith.divf %24, %25 : f32
      linalg.yield %27 : f32
    } -> tensor<10x20xf32>
    func.return %23 : tensor<10x20xf32>
  }
}
// -- changes --
// nothing
