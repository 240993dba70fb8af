// passes: fuse-softmax
builtin.module {
  func.func @network(%0: tensor<3x20x50xf32>) -> tensor<3x20x50xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.empty() : tensor<20x50xf32>
    %2 = arith.constant 0xff800000 : f32
    %3 = linalg.fill ins(%2 : f32) outs(%1 : tensor<20x50xf32>) -> tensor<20x50xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"], doc = "layer"} ins(%0 : tensor<3x20x50xf32>) outs(%3 : tensor<20x50xf32>) {
    ^bb0(%5: f32, %6: f32):
      %7 = arith.maxnumf %6, %5 : f32
      linalg.yield %7 : f32
    } -> tensor<20x50xf32>
    %8 = tensor.empty() : tensor<3x20x50xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %4 : tensor<3x20x50xf32>, tensor<20x50xf32>) outs(%8 : tensor<3x20x50xf32>) {
    ^bb0(%10: f32, %11: f32, %12: f32):
      %13 = arith.subf %10, %11 : f32
      %14 = math.exp %13 : f32
      linalg.yield %14 : f32
    } -> tensor<3x20x50xf32>
    %15 = tensor.empty() : tensor<20x50xf32>
    %16 = arith.constant 0.000000e+00 : f32
    %17 = linalg.fill ins(%16 : f32) outs(%15 : tensor<20x50xf32>) -> tensor<20x50xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"], doc = "layer"} ins(%9 : tensor<3x20x50xf32>) outs(%17 : tensor<20x50xf32>) {
    ^bb0(%19: f32, %20: f32):
      %21 = arith.addf %20, %19 : f32
      linalg.yield %21 : f32
    } -> tensor<20x50xf32>
    %22 = tensor.empty() : tensor<3x20x50xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%9, %18 : tensor<3x20x50xf32>, tensor<20x50xf32>) outs(%22 : tensor<3x20x50xf32>) {
    ^bb0(%24: f32, %25: f32, %26: f32):
      %27 = arith.divf %24, %25 : f32
      linalg.yield %27 : f32
    } -> tensor<3x20x50xf32>
    func.return %23 : tensor<3x20x50xf32>
  }
}
// -- changes --
// erased: %1, %2, %3, %4, %8, %9, %15, %16, %17, %18, %22, %23
%28 = tensor.collapse_shape %0 [[0 : i64, 1 : i64, 2 : i64]] : tensor<3x20x50xf32> into tensor<3000xf32>
%29 = tensor.expand_shape %28 [[0 : i64, 1 : i64, 2 : i64]] output_shape [1, 3, 1000] : tensor<3000xf32> into tensor<1x3x1000xf32>
%30 = rt.code(%29) scratch [memref<512xf32>, memref<512xf32>] iterations 2 attributes {doc = "layer"} {
^bb0(%31: memref<1x3x1000xf32>, %32: memref<1x3x1000xf32>, %33: memref<512xf32>, %34: memref<512xf32>, %35: index):
  %36 = arith.constant 2 : index
  %37 = arith.remui %35, %36 : index
  %38 = arith.constant 512 : index
  %39 = arith.muli %37, %38 : index
  %40 = arith.constant 1000 : index
  %41 = arith.subi %40, %39 : index
  %42 = arith.minsi %41, %38 : index
  %43 = arith.divui %35, %36 : index
  %44 = arith.divui %35, %36 : index
  %45 = arith.constant 0 : index
  rt.lanes %45 to %42 {
  ^bb0(%46: index):
    %47 = arith.addi %39, %46 : index
    %48 = arith.constant 0 : index
    %49 = memref.load %31[%43, %48, %47] : memref<1x3x1000xf32>
    memref.store %49, %33[%46] : memref<512xf32>
    %50 = arith.constant 0.000000e+00 : f32
    memref.store %50, %34[%46] : memref<512xf32>
  }
  %51 = arith.constant 1 : index
  %52 = arith.constant 3 : index
  scf.for %53 = %51 to %52 step %51 {
    %54 = arith.constant 0 : index
    rt.lanes %54 to %42 {
    ^bb0(%55: index):
      %56 = memref.load %33[%55] : memref<512xf32>
      %57 = arith.addi %39, %55 : index
      %58 = memref.load %31[%43, %53, %57] : memref<1x3x1000xf32>
      %59 = arith.maxnumf %56, %58 : f32
      memref.store %59, %33[%55] : memref<512xf32>
    }
  }
  scf.for %60 = %45 to %52 step %51 {
    %61 = arith.constant 0 : index
    rt.lanes %61 to %42 {
    ^bb0(%62: index):
      %63 = arith.addi %39, %62 : index
      %64 = memref.load %31[%43, %60, %63] : memref<1x3x1000xf32>
      %65 = memref.load %33[%62] : memref<512xf32>
      %66 = arith.subf %64, %65 : f32
      %67 = math.exp %66 : f32
      %68 = arith.addi %39, %62 : index
      memref.store %67, %32[%44, %60, %68] : memref<1x3x1000xf32>
      %69 = memref.load %34[%62] : memref<512xf32>
      %70 = arith.addf %69, %67 : f32
      memref.store %70, %34[%62] : memref<512xf32>
    }
  }
  rt.lanes %45 to %42 {
  ^bb0(%71: index):
    %72 = memref.load %34[%71] : memref<512xf32>
    %73 = arith.constant 1.000000e+00 : f32
    %74 = arith.divf %73, %72 : f32
    memref.store %74, %34[%71] : memref<512xf32>
  }
  scf.for %75 = %45 to %52 step %51 {
    %76 = arith.constant 0 : index
    rt.lanes %76 to %42 {
    ^bb0(%77: index):
      %78 = arith.addi %39, %77 : index
      %79 = memref.load %32[%44, %75, %78] : memref<1x3x1000xf32>
      %80 = memref.load %34[%77] : memref<512xf32>
      %81 = arith.mulf %79, %80 : f32
      %82 = arith.addi %39, %77 : index
      memref.store %81, %32[%44, %75, %82] : memref<1x3x1000xf32>
    }
  }
  rt.yield
} : (tensor<1x3x1000xf32>) -> tensor<1x3x1000xf32>
%31 = tensor.collapse_shape %30 [[0 : i64, 1 : i64, 2 : i64]] : tensor<1x3x1000xf32> into tensor<3000xf32>
%32 = tensor.expand_shape %31 [[0 : i64, 1 : i64, 2 : i64]] output_shape [3, 20, 50] : tensor<3000xf32> into tensor<3x20x50xf32>
func.return %32 : tensor<3x20x50xf32>
