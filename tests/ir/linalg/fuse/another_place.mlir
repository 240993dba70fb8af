// passes: expand-layers,fuse-groups
// A reader at another place begins a group of its own.
builtin.module {
  func.func @network() -> tensor<4x3xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %a = ncnn.Sigmoid(%x) {layer = "s", blobs = ["a"], line = 4 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %b = ncnn.Permute(%a) {layer = "p", blobs = ["b"], line = 5 : i32, order_type = 1 : i32} : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %y = ncnn.TanH(%b) {layer = "t", blobs = ["y"], line = 6 : i32} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    func.return %y : tensor<4x3xf32>
  }
}
// -- becomes --
