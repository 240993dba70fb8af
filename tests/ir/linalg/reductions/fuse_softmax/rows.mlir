// passes: fuse-softmax
builtin.module {
  func.func @network(%0: tensor<10x80xf32>) -> tensor<10x80xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<10xf32>
    %2 = arith.constant 0xff800000 : f32
    %3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<10xf32>) -> tensor<10xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "layer"} ins(%0 : tensor<10x80xf32>) outs(%3 : tensor<10xf32>) {
    ^bb0(%5: f32, %6: f32):
      %7 = arith.maxnumf %6, %5 : f32
      linalg.yield %7 : f32
    } -> tensor<10xf32>
    %8 = tensor.empty() : tensor<10x80xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layer"} ins(%0, %4 : tensor<10x80xf32>, tensor<10xf32>) outs(%8 : tensor<10x80xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32):
      %13 = arith.subf %10, %11 : f32
      %14 = math.exp %13 : f32
      linalg.yield %14 : f32
    } -> tensor<10x80xf32>
    %15 = tensor.empty() : tensor<10xf32>
    %16 = arith.constant 0.000000e+00 : f32
    %17 = linalg.fill ins(%16 : f32) outs(%15 : tensor<10xf32>) -> tensor<10xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], doc = "layer"} ins(%9 : tensor<10x80xf32>) outs(%17 : tensor<10xf32>) {
    ^bb0(%19: f32, %20: f32):
      %21 = arith.addf %20, %19 : f32
      linalg.yield %21 : f32
    } -> tensor<10xf32>
    %22 = tensor.empty() : tensor<10x80xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"], doc = "layer"} ins(%9, %18 : tensor<10x80xf32>, tensor<10xf32>) outs(%22 : tensor<10x80xf32>) {
    ^bb0(%24: f32, %25: f32, %26: f32):
      %27 = arith.divf %24, %25 : f32
      linalg.yield %27 : f32
    } -> tensor<10x80xf32>
    func.return %23 : tensor<10x80xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<10x80xf32>) -> tensor<10x80xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = rt.code(%0) scratch [memref<8xf32>, memref<8xf32>] iterations 2 attributes {doc = "layer"} {
    ^bb0(%2: memref<10x80xf32>, %3: memref<10x80xf32>, %4: memref<8xf32>, %5: memref<8xf32>, %6: index):
      %7 = arith.constant 8 : index
      %8 = arith.muli %6, %7 : index
      %9 = arith.constant 10 : index
      %10 = arith.subi %9, %8 : index
      %11 = arith.minsi %10, %7 : index
      %12 = arith.constant 0 : index
      %13 = arith.constant 1 : index
      scf.for %14 = %12 to %11 step %13 {
        %15 = arith.addi %8, %14 : index
        %16 = arith.constant 0xff800000 : f32
        %17 = arith.constant 0 : index
        %18 = arith.constant 80 : index
        %19 = rt.reduce "max" from %16, %17 to %18 {
        ^bb0(%20: index):
          %21 = memref.load %2[%15, %20] : memref<10x80xf32>
          rt.reduce.return %21 : f32
        } : f32
        memref.store %19, %4[%14] : memref<8xf32>
      }
      scf.for %22 = %12 to %11 step %13 {
        %23 = arith.addi %8, %22 : index
        %24 = arith.addi %8, %22 : index
        %25 = memref.load %4[%22] : memref<8xf32>
        %26 = arith.constant 0 : index
        %27 = arith.constant 80 : index
        rt.lanes %26 to %27 {
        ^bb0(%28: index):
          %29 = memref.load %2[%23, %28] : memref<10x80xf32>
          %30 = arith.subf %29, %25 : f32
          %31 = math.exp %30 : f32
          memref.store %31, %3[%24, %28] : memref<10x80xf32>
        }
      }
      scf.for %32 = %12 to %11 step %13 {
        %33 = arith.addi %8, %32 : index
        %34 = arith.constant 0.000000e+00 : f32
        %35 = arith.constant 0 : index
        %36 = arith.constant 80 : index
        %37 = rt.reduce "add" from %34, %35 to %36 {
        ^bb0(%38: index):
          %39 = memref.load %3[%33, %38] : memref<10x80xf32>
          rt.reduce.return %39 : f32
        } : f32
        %40 = arith.constant 1.000000e+00 : f32
        %41 = arith.divf %40, %37 : f32
        memref.store %41, %5[%32] : memref<8xf32>
      }
      scf.for %42 = %12 to %11 step %13 {
        %43 = arith.addi %8, %42 : index
        %44 = memref.load %5[%42] : memref<8xf32>
        %45 = arith.constant 0 : index
        %46 = arith.constant 80 : index
        rt.lanes %45 to %46 {
        ^bb0(%47: index):
          %48 = memref.load %3[%43, %47] : memref<10x80xf32>
          %49 = arith.mulf %48, %44 : f32
          memref.store %49, %3[%43, %47] : memref<10x80xf32>
        }
      }
      rt.yield
    } : (tensor<10x80xf32>) -> tensor<10x80xf32>
    func.return %1 : tensor<10x80xf32>
  }
}
