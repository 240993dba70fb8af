// passes: convert-ncnn-to-linalg,split-transposes
// Squares of rows and columns first, in each channel; then three channels side by side.
builtin.module {
  func.func @network() -> tensor<18x20x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 18 : i32, h = 20 : i32, c = 3 : i32} : () -> tensor<3x20x18xf32>
    %y = ncnn.Permute(%x) {layer = "y", blobs = ["y"], line = 4 : i32, order_type = 5 : i32} : (tensor<3x20x18xf32>) -> tensor<18x20x3xf32>
    func.return %y : tensor<18x20x3xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = tensor.empty() : tensor<3x18x20xf32>
%1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "y"} ins(%x_1 : tensor<3x20x18xf32>) outs(%0 : tensor<3x18x20xf32>) {
^bb0(%2: f32, %3: f32):
  linalg.yield %2 : f32
} -> tensor<3x18x20xf32>
%4 = tensor.empty() : tensor<18x20x3xf32>
%y_1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "y"} ins(%1 : tensor<3x18x20xf32>) outs(%4 : tensor<18x20x3xf32>) {
^bb0(%5: f32, %6: f32):
  linalg.yield %5 : f32
} -> tensor<18x20x3xf32>
func.return %y_1 : tensor<18x20x3xf32>
