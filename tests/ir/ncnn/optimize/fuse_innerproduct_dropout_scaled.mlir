// passes: infer-shapes,optimize-ncnn
builtin.module {
  func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<*xf32>
    %p = ncnn.InnerProduct(%data) {layer = "p", blobs = ["p"], num_output = 2 : i32, bias_term = 1 : i32, weight_data_size = 12 : i32, weight = #ncnn.weight<[2, 6] inline "f4" "000000000000803f0000004000004040000080400000a0400000c0400000e04000000041000010410000204100003041">, bias = #ncnn.weight<[2] inline "f4" "0000803f00000040">} : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.Dropout(%p) {layer = "y", blobs = ["y"], scale = 5.000000e-01 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    func.return %y : tensor<*xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network() -> tensor<2xf32> attributes {outputs = ["y"]} {
    %data = ncnn.Input() {layer = "data", blobs = ["data"], w = 6 : i32} : () -> tensor<6xf32>
    %y = ncnn.InnerProduct(%data) {layer = "p", blobs = ["y"], num_output = 2 : i32, bias_term = 1 : i32, weight_data_size = 12 : i32, weight = #ncnn.weight<[2, 6] inline "f4" "000000000000003f0000803f0000c03f0000004000002040000040400000604000008040000090400000a0400000b040">, bias = #ncnn.weight<[2] inline "f4" "0000003f0000803f">} : (tensor<6xf32>) -> tensor<2xf32>
    func.return %y : tensor<2xf32>
  }
}
