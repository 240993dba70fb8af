// passes: expand-layers,pack-channels
// Whole blocks are joined as they are.
builtin.module {
  func.func @network() -> tensor<16x2x2xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 6 : i32, h = 6 : i32, c = 16 : i32} : () -> tensor<16x6x6xf32>
    %x0, %x1 = ncnn.Split(%x) {layer = "s", blobs = ["x0", "x1"], line = 4 : i32} : (tensor<16x6x6xf32>) -> (tensor<16x6x6xf32>, tensor<16x6x6xf32>)
    %b = ncnn.Convolution(%x0) {layer = "a", blobs = ["b"], line = 5 : i32, num_output = 32 : i32, kernel_w = 3 : i32, weight_data_size = 4608 : i32, weight = #ncnn.weight<[32, 16, 3, 3] random 1 0 0.08333333333333333 0.0>} : (tensor<16x6x6xf32>) -> tensor<32x4x4xf32>
    %d = ncnn.Convolution(%x1) {layer = "c", blobs = ["d"], line = 6 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 2304 : i32, weight = #ncnn.weight<[16, 16, 3, 3] random 1 1 0.08333333333333333 0.0>} : (tensor<16x6x6xf32>) -> tensor<16x4x4xf32>
    %e = ncnn.Concat(%b, %d) {layer = "cat", blobs = ["e"], line = 7 : i32, axis = 0 : i32} : (tensor<32x4x4xf32>, tensor<16x4x4xf32>) -> tensor<48x4x4xf32>
    %y = ncnn.Convolution(%e) {layer = "f", blobs = ["y"], line = 8 : i32, num_output = 16 : i32, kernel_w = 3 : i32, weight_data_size = 6912 : i32, weight = #ncnn.weight<[16, 48, 3, 3] random 1 2 0.048112522432468816 0.0>} : (tensor<48x4x4xf32>) -> tensor<16x2x2xf32>
    func.return %y : tensor<16x2x2xf32>
  }
}
// -- becomes --
