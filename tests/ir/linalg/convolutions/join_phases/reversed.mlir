// passes: join-phases
builtin.module {
  func.func @network(%x: tensor<2x3x5xf32>) -> tensor<3x3x5xf32> attributes {source = "net.param", outputs = ["y"], inputs = ["x"]} {
    %0 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
    ^bb0(%1: index, %2: index, %3: index):
      %4 = arith.constant 0.000000e+00 : f32
      tensor.yield %4 : f32
    } : tensor<2x3x5xf32> to tensor<2x5x7xf32>
    %5 = ncnn.constant <[3, 2, 3, 3] random 7 0 0.23570226039551587 0.0> : tensor<3x2x3x3xf32>
    %6 = tensor.empty() : tensor<3x3x5xf32>
    %7 = arith.constant 0.000000e+00 : f32
    %8 = linalg.fill ins(%7 : f32) outs(%6 : tensor<3x3x5xf32>) -> tensor<3x3x5xf32>
    %9 = tensor.empty() : tensor<3x3xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, ((d4 * -1) + 2), ((d5 * -1) + 2))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%0, %5, %9 : tensor<2x5x7xf32>, tensor<3x2x3x3xf32>, tensor<3x3xf32>) outs(%8 : tensor<3x3x5xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32, %13: f32):
      %14 = arith.mulf %10, %11 : f32
      %15 = arith.addf %13, %14 : f32
      linalg.yield %15 : f32
    } -> tensor<3x3x5xf32>
    func.return %y : tensor<3x3x5xf32>
  }
}
// -- changes --
// erased: %0, %5, %6, %7, %8, %9, %y
%16 = tensor.pad %x low[0, 1, 1] high[0, 1, 1] {
^bb0(%17: index, %18: index, %19: index):
  %20 = arith.constant 0.000000e+00 : f32
  tensor.yield %20 : f32
} : tensor<2x3x5xf32> to tensor<2x5x7xf32>
%21 = ncnn.constant <[3, 2, 3, 3] phases [[[2, 1, 0]], [[2, 1, 0]]] of <[3, 2, 3, 3] random 7 0 0.23570226039551587 0.0>> : tensor<3x2x3x3xf32>
%22 = tensor.empty() : tensor<3x3x5xf32>
%23 = arith.constant 0.000000e+00 : f32
%24 = linalg.fill ins(%23 : f32) outs(%22 : tensor<3x3x5xf32>) -> tensor<3x3x5xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"], doc = "transposed"} ins(%16, %21 : tensor<2x5x7xf32>, tensor<3x2x3x3xf32>) outs(%24 : tensor<3x3x5xf32>) {
^bb0(%25: f32, %26: f32, %27: f32):
  %28 = arith.mulf %25, %26 : f32
  %29 = arith.addf %27, %28 : f32
  linalg.yield %29 : f32
} -> tensor<3x3x5xf32>
func.return %y_1 : tensor<3x3x5xf32>
