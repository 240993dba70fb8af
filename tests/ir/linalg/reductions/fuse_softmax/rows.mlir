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
// -- changes --
// erased: %1, %2, %3, %4, %8, %9, %15, %16, %17, %18, %22, %23
%28 = rt.code(%0) scratch [memref<8xf32>, memref<8xf32>] iterations 2 attributes {doc = "layer"} {
^bb0(%29: memref<10x80xf32>, %30: memref<10x80xf32>, %31: memref<8xf32>, %32: memref<8xf32>, %33: index):
  %34 = arith.constant 8 : index
  %35 = arith.muli %33, %34 : index
  %36 = arith.constant 10 : index
  %37 = arith.subi %36, %35 : index
  %38 = arith.minsi %37, %34 : index
  %39 = arith.constant 0 : index
  %40 = arith.constant 1 : index
  scf.for %41 = %39 to %38 step %40 {
    %42 = arith.addi %35, %41 : index
    %43 = arith.constant 0xff800000 : f32
    %44 = arith.constant 0 : index
    %45 = arith.constant 80 : index
    %46 = rt.reduce "max" from %43, %44 to %45 {
    ^bb0(%47: index):
      %48 = memref.load %29[%42, %47] : memref<10x80xf32>
      rt.reduce.return %48 : f32
    } : f32
    memref.store %46, %31[%41] : memref<8xf32>
  }
  scf.for %49 = %39 to %38 step %40 {
    %50 = arith.addi %35, %49 : index
    %51 = arith.addi %35, %49 : index
    %52 = memref.load %31[%49] : memref<8xf32>
    %53 = arith.constant 0 : index
    %54 = arith.constant 80 : index
    rt.lanes %53 to %54 {
    ^bb0(%55: index):
      %56 = memref.load %29[%50, %55] : memref<10x80xf32>
      %57 = arith.subf %56, %52 : f32
      %58 = math.exp %57 : f32
      memref.store %58, %30[%51, %55] : memref<10x80xf32>
    }
  }
  scf.for %59 = %39 to %38 step %40 {
    %60 = arith.addi %35, %59 : index
    %61 = arith.constant 0.000000e+00 : f32
    %62 = arith.constant 0 : index
    %63 = arith.constant 80 : index
    %64 = rt.reduce "add" from %61, %62 to %63 {
    ^bb0(%65: index):
      %66 = memref.load %30[%60, %65] : memref<10x80xf32>
      rt.reduce.return %66 : f32
    } : f32
    %67 = arith.constant 1.000000e+00 : f32
    %68 = arith.divf %67, %64 : f32
    memref.store %68, %32[%59] : memref<8xf32>
  }
  scf.for %69 = %39 to %38 step %40 {
    %70 = arith.addi %35, %69 : index
    %71 = memref.load %32[%69] : memref<8xf32>
    %72 = arith.constant 0 : index
    %73 = arith.constant 80 : index
    rt.lanes %72 to %73 {
    ^bb0(%74: index):
      %75 = memref.load %30[%70, %74] : memref<10x80xf32>
      %76 = arith.mulf %75, %71 : f32
      memref.store %76, %30[%70, %74] : memref<10x80xf32>
    }
  }
  rt.yield
} : (tensor<10x80xf32>) -> tensor<10x80xf32>
func.return %28 : tensor<10x80xf32>
