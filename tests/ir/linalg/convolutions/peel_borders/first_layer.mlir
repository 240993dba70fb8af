// passes: peel-borders
builtin.module {
  func.func @network(%0: tensor<3x80x80xf32>) -> tensor<16x40x40xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.pad %0 low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%2: index, %3: index, %4: index):
      %5 = arith.constant 0.000000e+00 : f32
      tensor.yield %5 : f32
    } : tensor<3x80x80xf32> to tensor<3x82x82xf32>
    %6 = ncnn.constant <[16, 3, 3, 3] random 7 0 1.0 0.0> : tensor<16x3x3x3xf32>
    %7 = ncnn.constant <[16] random 7 1 1.0 0.0> : tensor<16xf32>
    %8 = tensor.empty() : tensor<16x40x40xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%7 : tensor<16xf32>) outs(%8 : tensor<16x40x40xf32>) {
    ^bb0(%10: f32, %11: f32):
      linalg.yield %10 : f32
    } -> tensor<16x40x40xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 * 2) + d4), ((d2 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%1, %6 : tensor<3x82x82xf32>, tensor<16x3x3x3xf32>) outs(%9 : tensor<16x40x40xf32>) {
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = arith.mulf %13, %14 : f32
      %17 = arith.addf %15, %16 : f32
      linalg.yield %17 : f32
    } -> tensor<16x40x40xf32>
    %18 = tensor.empty() : tensor<16x40x40xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%12 : tensor<16x40x40xf32>) outs(%18 : tensor<16x40x40xf32>) {
    ^bb0(%20: f32, %21: f32):
      %22 = arith.negf %20 : f32
      linalg.yield %22 : f32
    } -> tensor<16x40x40xf32>
    func.return %19 : tensor<16x40x40xf32>
  }
}
// -- changes --
// erased: %1, %8, %9, %12, %18, %19
...
%23 = tensor.extract_slice %0[0, 1, 1] [3, 79, 79] [1, 1, 1] : tensor<3x80x80xf32> to tensor<3x79x79xf32>
%24 = tensor.empty() : tensor<16x39x39xf32>
%25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%7 : tensor<16xf32>) outs(%24 : tensor<16x39x39xf32>) {
^bb0(%26: f32, %27: f32):
  linalg.yield %26 : f32
} -> tensor<16x39x39xf32>
%28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 * 2) + d4), ((d2 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%23, %6 : tensor<3x79x79xf32>, tensor<16x3x3x3xf32>) outs(%25 : tensor<16x39x39xf32>) {
^bb0(%29: f32, %30: f32, %31: f32):
  %32 = arith.mulf %29, %30 : f32
  %33 = arith.addf %31, %32 : f32
  linalg.yield %33 : f32
} -> tensor<16x39x39xf32>
%34 = tensor.empty() : tensor<16x39x39xf32>
%35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%28 : tensor<16x39x39xf32>) outs(%34 : tensor<16x39x39xf32>) {
^bb0(%36: f32, %37: f32):
  %38 = arith.negf %36 : f32
  linalg.yield %38 : f32
} -> tensor<16x39x39xf32>
%39 = tensor.extract_slice %0[0, 1, 0] [3, 79, 2] [1, 1, 1] : tensor<3x80x80xf32> to tensor<3x79x2xf32>
%40 = tensor.pad %39 low[0, 0, 1] high[0, 0, 0] {
^bb0(%41: index, %42: index, %43: index):
  %44 = arith.constant 0.000000e+00 : f32
  tensor.yield %44 : f32
} : tensor<3x79x2xf32> to tensor<3x79x3xf32>
%45 = tensor.empty() : tensor<16x39x1xf32>
%46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%7 : tensor<16xf32>) outs(%45 : tensor<16x39x1xf32>) {
^bb0(%47: f32, %48: f32):
  linalg.yield %47 : f32
} -> tensor<16x39x1xf32>
%49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 * 2) + d4), ((d2 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%40, %6 : tensor<3x79x3xf32>, tensor<16x3x3x3xf32>) outs(%46 : tensor<16x39x1xf32>) {
^bb0(%50: f32, %51: f32, %52: f32):
  %53 = arith.mulf %50, %51 : f32
  %54 = arith.addf %52, %53 : f32
  linalg.yield %54 : f32
} -> tensor<16x39x1xf32>
%55 = tensor.empty() : tensor<16x39x1xf32>
%56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%49 : tensor<16x39x1xf32>) outs(%55 : tensor<16x39x1xf32>) {
^bb0(%57: f32, %58: f32):
  %59 = arith.negf %57 : f32
  linalg.yield %59 : f32
} -> tensor<16x39x1xf32>
%60 = tensor.concat dim(2) %56, %35 : (tensor<16x39x1xf32>, tensor<16x39x39xf32>) -> tensor<16x39x40xf32>
%61 = tensor.extract_slice %0[0, 0, 0] [3, 2, 80] [1, 1, 1] : tensor<3x80x80xf32> to tensor<3x2x80xf32>
%62 = tensor.pad %61 low[0, 1, 1] high[0, 0, 0] {
^bb0(%63: index, %64: index, %65: index):
  %66 = arith.constant 0.000000e+00 : f32
  tensor.yield %66 : f32
} : tensor<3x2x80xf32> to tensor<3x3x81xf32>
%67 = tensor.empty() : tensor<16x1x40xf32>
%68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%7 : tensor<16xf32>) outs(%67 : tensor<16x1x40xf32>) {
^bb0(%69: f32, %70: f32):
  linalg.yield %69 : f32
} -> tensor<16x1x40xf32>
%71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 * 2) + d4), ((d2 * 2) + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "layer"} ins(%62, %6 : tensor<3x3x81xf32>, tensor<16x3x3x3xf32>) outs(%68 : tensor<16x1x40xf32>) {
^bb0(%72: f32, %73: f32, %74: f32):
  %75 = arith.mulf %72, %73 : f32
  %76 = arith.addf %74, %75 : f32
  linalg.yield %76 : f32
} -> tensor<16x1x40xf32>
%77 = tensor.empty() : tensor<16x1x40xf32>
%78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%71 : tensor<16x1x40xf32>) outs(%77 : tensor<16x1x40xf32>) {
^bb0(%79: f32, %80: f32):
  %81 = arith.negf %79 : f32
  linalg.yield %81 : f32
} -> tensor<16x1x40xf32>
%82 = tensor.concat dim(1) %78, %60 : (tensor<16x1x40xf32>, tensor<16x39x40xf32>) -> tensor<16x40x40xf32>
func.return %82 : tensor<16x40x40xf32>
