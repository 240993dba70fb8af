// passes: convert-ncnn-to-linalg,form-fusion-groups
// Each of the four passes needs all that the one before makes: four kernels.
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.Softmax(%x) {layer = "s", blobs = ["y"], line = 4 : i32, axis = 1 : i32, fixbug0 = 1 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {outputs = ["y"], inputs = ["x"]} {
    %0 = func.call @k0(%x) {layers = ["s"]} : (tensor<3x4xf32>) -> tensor<3xf32>
    %1 = func.call @k1(%x, %0) {layers = ["s"]} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
    %2 = func.call @k2(%1) {layers = ["s"]} : (tensor<3x4xf32>) -> tensor<3xf32>
    %y = func.call @k3(%1, %2) {layers = ["s"]} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
  func.func private @k0(%0: tensor<3x4xf32>) -> tensor<3xf32> {
    %1 = arith.constant 0xff800000 : f32
    %2 = tensor.empty() : tensor<3xf32>
    %3 = linalg.fill ins(%1 : f32) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "s"} ins(%0 : tensor<3x4xf32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%5: f32, %6: f32):
      %7 = arith.maxnumf %6, %5 : f32
      linalg.yield %7 : f32
    } -> tensor<3xf32>
    func.return %4 : tensor<3xf32>
  }
  func.func private @k1(%0: tensor<3x4xf32>, %1: tensor<3xf32>) -> tensor<3x4xf32> {
    %2 = tensor.empty() : tensor<3x4xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "s"} ins(%0, %1 : tensor<3x4xf32>, tensor<3xf32>) outs(%2 : tensor<3x4xf32>) {
    ^bb0(%4: f32, %5: f32, %6: f32):
      %7 = arith.subf %4, %5 : f32
      %8 = math.exp %7 : f32
      linalg.yield %8 : f32
    } -> tensor<3x4xf32>
    func.return %3 : tensor<3x4xf32>
  }
  func.func private @k2(%0: tensor<3x4xf32>) -> tensor<3xf32> {
    %1 = arith.constant 0.000000e+00 : f32
    %2 = tensor.empty() : tensor<3xf32>
    %3 = linalg.fill ins(%1 : f32) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "s"} ins(%0 : tensor<3x4xf32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%5: f32, %6: f32):
      %7 = arith.addf %6, %5 : f32
      linalg.yield %7 : f32
    } -> tensor<3xf32>
    func.return %4 : tensor<3xf32>
  }
  func.func private @k3(%0: tensor<3x4xf32>, %1: tensor<3xf32>) -> tensor<3x4xf32> {
    %2 = tensor.empty() : tensor<3x4xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "s"} ins(%0, %1 : tensor<3x4xf32>, tensor<3xf32>) outs(%2 : tensor<3x4xf32>) {
    ^bb0(%3: f32, %4: f32, %5: f32):
      %6 = arith.divf %3, %4 : f32
      linalg.yield %6 : f32
    } -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
