// passes: infer-shapes,canonicalize-ncnn
// refused: eliminate_orphaned_memorydata m: it is read by 'y'
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %m = ncnn.MemoryData() {w = 2 : i32, data = #ncnn.weight<[2] inline "f4" "0000803f00000040">, layer = "m", blobs = ["m"]} : () -> tensor<*xf32>
    %y = ncnn.ReLU(%m) {layer = "y", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2xf32> attributes {outputs = ["y"]} {
    %m = ncnn.MemoryData() {layer = "m", blobs = ["m"], w = 2 : i32, data = #ncnn.weight<[2] inline "f4" "0000803f00000040">} : () -> tensor<2xf32>
    %y = ncnn.ReLU(%m) {layer = "y", blobs = ["y"]} : (tensor<2xf32>) -> tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}
