// passes: expand-layers,fuse-groups
// A value with two readers has memory: its producer ends a group.
builtin.module {
  func.func @network() -> tensor<4xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 4 : i32} : () -> tensor<4xf32>
    %a = ncnn.Sigmoid(%x) {layer = "s", blobs = ["a"], line = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %a0, %a1 = ncnn.Split(%a) {layer = "t", blobs = ["a0", "a1"], line = 5 : i32} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = ncnn.TanH(%a0) {layer = "u", blobs = ["b"], line = 6 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %y = ncnn.BinaryOp(%a1, %b) {layer = "add", blobs = ["y"], line = 7 : i32, op_type = 0 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
// -- becomes --
