// passes: skip-border-taps
"builtin.module"() ({
  "func.func"() <{sym_name = "network", function_type = (tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>}> ({
  ^bb0(%0: tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>):
    %1 = "tensor.pad"(%0) <{static_low = array<i64: 0, 1, 1>, static_high = array<i64: 0, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
    ^bb0(%2: index, %3: index, %4: index):
      %5 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
      "tensor.yield"(%5) : (f32) -> ()
    }) : (tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 2">, #rt.size<"w@256 // 32 + 2">]>
    %6 = "ncnn.constant"() <{value = #ncnn.weight<[2, 2, 3, 3] inline "f4" "000000400000803f000080bf000080bf000040c000004040000080bf0000004000000040000080bf000000c0000040c000000000000040c00000803f000040400000803f00000000000040400000803f00000040000000c0000040400000803f00004040000080bf000000c0000000c00000803f00000000000080bf000000c0000040c0000000400000000000004040">}> : () -> tensor<2x2x3x3xf32>
    %7 = "tensor.empty"() : () -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    %8 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %9 = "linalg.fill"(%8, %7) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%10: f32, %11: f32):
      "linalg.yield"(%10) : (f32) -> ()
    }) : (f32, tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    %12 = "linalg.generic"(%1, %6, %9) <{indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>, doc = "layer"}> ({
    ^bb0(%13: f32, %14: f32, %15: f32):
      %16 = "arith.mulf"(%13, %14) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %17 = "arith.addf"(%15, %16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%17) : (f32) -> ()
    }) : (tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 2">, #rt.size<"w@256 // 32 + 2">]>, tensor<2x2x3x3xf32>, tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
    "func.return"(%12) : (tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> ()
  }) {inputs = ["input0"], outputs = ["output0"]} : () -> ()
}) : () -> ()
// -- changes --
...
%18 = "tensor.extract_slice"(%1) <{static_offsets = array<i64: 0, -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 2, -9223372036854775808, -9223372036854775808>, static_strides = array<i64: 1, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> {sizes = [#rt.size<"max(0, -(h@224 // 32) + 2)">, #rt.size<"max(0, -(w@256 // 32) + 2)">]} : (tensor<2x?x?xf32, [#rt.size<"h@224 // 32 + 2">, #rt.size<"w@256 // 32 + 2">]>) -> tensor<2x?x?xf32, [#rt.size<"max(0, h@224 // 32 - max(0, -(h@224 // 32) + 2) + min(3, h@224 // 32 + 1) - 1)">, #rt.size<"max(0, w@256 // 32 - max(0, -(w@256 // 32) + 2) + min(3, w@256 // 32 + 1) - 1)">]>
%19 = "tensor.extract_slice"(%6) <{static_offsets = array<i64: 0, 0, -9223372036854775808, -9223372036854775808>, static_sizes = array<i64: 2, 2, -9223372036854775808, -9223372036854775808>, static_strides = array<i64: 1, 1, 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> {sizes = [#rt.size<"max(0, -(h@224 // 32) + 2)">, #rt.size<"max(0, -(w@256 // 32) + 2)">]} : (tensor<2x2x3x3xf32>) -> tensor<2x2x?x?xf32, [#rt.size<"max(0, -max(0, -(h@224 // 32) + 2) + min(3, h@224 // 32 + 1))">, #rt.size<"max(0, -max(0, -(w@256 // 32) + 2) + min(3, w@256 // 32 + 1))">]>
%12 = "linalg.generic"(%18, %19, %9) <{indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, (d1 + d4), (d2 + d5))>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>], iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>, #linalg.iterator_type<reduction>], operandSegmentSizes = array<i32: 2, 1>, doc = "layer"}> ({
^bb0(%13: f32, %14: f32, %15: f32):
  %16 = "arith.mulf"(%13, %14) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
  %17 = "arith.addf"(%15, %16) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
  "linalg.yield"(%17) : (f32) -> ()
}) : (tensor<2x?x?xf32, [#rt.size<"max(0, h@224 // 32 - max(0, -(h@224 // 32) + 2) + min(3, h@224 // 32 + 1) - 1)">, #rt.size<"max(0, w@256 // 32 - max(0, -(w@256 // 32) + 2) + min(3, w@256 // 32 + 1) - 1)">]>, tensor<2x2x?x?xf32, [#rt.size<"max(0, -max(0, -(h@224 // 32) + 2) + min(3, h@224 // 32 + 1))">, #rt.size<"max(0, -max(0, -(w@256 // 32) + 2) + min(3, w@256 // 32 + 1))">]>, tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>) -> tensor<2x?x?xf32, [#rt.size<"h@224 // 32">, #rt.size<"w@256 // 32">]>
...
