// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<*xf32>
    %b = ncnn.BatchNorm(%data) {layer = "b", blobs = ["b"], channels = 3 : i32, slope = #ncnn.weight<[3] inline "f4" "0000803f0000004000004040">, mean = #ncnn.weight<[3] inline "f4" "000000000000000000000000">, var = #ncnn.weight<[3] inline "f4" "0000803f0000803f0000803f">, bias = #ncnn.weight<[3] inline "f4" "0000803f0000803f0000803f">} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Scale(%b) {layer = "y", blobs = ["y"], scale_data_size = 3 : i32, bias_term = 1 : i32, scale = #ncnn.weight<[3] inline "f4" "000000400000004000000040">, bias = #ncnn.weight<[3] inline "f4" "0000803f00000000000080bf">} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<3x4xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 4 : i32, h = 3 : i32} : () -> tensor<3x4xf32>
    %y = ncnn.BatchNorm(%data) {layer = "b", blobs = ["y"], channels = 3 : i32, slope = #ncnn.weight<[3] inline "f4" "00000040000080400000c040">, mean = #ncnn.weight<[3] inline "f4" "000000000000000000000000">, var = #ncnn.weight<[3] inline "f4" "0000803f0000803f0000803f">, bias = #ncnn.weight<[3] inline "f4" "00004040000000400000803f">} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    func.return %y : tensor<3x4xf32>
  }
}
