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
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<3x20x50xf32>) -> tensor<3x20x50xf32> attributes {inputs = ["input0"], outputs = ["output0"]} {
    %1 = tensor.collapse_shape %0 [[0 : i64, 1 : i64, 2 : i64]] : tensor<3x20x50xf32> into tensor<3000xf32>
    %2 = tensor.expand_shape %1 [[0 : i64, 1 : i64, 2 : i64]] output_shape [1, 3, 1000] : tensor<3000xf32> into tensor<1x3x1000xf32>
    %3 = rt.code(%2) scratch [memref<512xf32>, memref<512xf32>] iterations 2 attributes {doc = "layer"} {
    ^bb0(%4: memref<1x3x1000xf32>, %5: memref<1x3x1000xf32>, %6: memref<512xf32>, %7: memref<512xf32>, %8: index):
      %9 = arith.constant 2 : index
      %10 = arith.remui %8, %9 : index
      %11 = arith.constant 512 : index
      %12 = arith.muli %10, %11 : index
      %13 = arith.constant 1000 : index
      %14 = arith.subi %13, %12 : index
      %15 = arith.minsi %14, %11 : index
      %16 = arith.divui %8, %9 : index
      %17 = arith.divui %8, %9 : index
      %18 = arith.constant 0 : index
      rt.lanes %18 to %15 {
      ^bb0(%19: index):
        %20 = arith.addi %12, %19 : index
        %21 = arith.constant 0 : index
        %22 = memref.load %4[%16, %21, %20] : memref<1x3x1000xf32>
        memref.store %22, %6[%19] : memref<512xf32>
        %23 = arith.constant 0.000000e+00 : f32
        memref.store %23, %7[%19] : memref<512xf32>
      }
      %24 = arith.constant 1 : index
      %25 = arith.constant 3 : index
      scf.for %26 = %24 to %25 step %24 {
        %27 = arith.constant 0 : index
        rt.lanes %27 to %15 {
        ^bb0(%28: index):
          %29 = memref.load %6[%28] : memref<512xf32>
          %30 = arith.addi %12, %28 : index
          %31 = memref.load %4[%16, %26, %30] : memref<1x3x1000xf32>
          %32 = arith.maxnumf %29, %31 : f32
          memref.store %32, %6[%28] : memref<512xf32>
        }
      }
      scf.for %33 = %18 to %25 step %24 {
        %34 = arith.constant 0 : index
        rt.lanes %34 to %15 {
        ^bb0(%35: index):
          %36 = arith.addi %12, %35 : index
          %37 = memref.load %4[%16, %33, %36] : memref<1x3x1000xf32>
          %38 = memref.load %6[%35] : memref<512xf32>
          %39 = arith.subf %37, %38 : f32
          %40 = math.exp %39 : f32
          %41 = arith.addi %12, %35 : index
          memref.store %40, %5[%17, %33, %41] : memref<1x3x1000xf32>
          %42 = memref.load %7[%35] : memref<512xf32>
          %43 = arith.addf %42, %40 : f32
          memref.store %43, %7[%35] : memref<512xf32>
        }
      }
      rt.lanes %18 to %15 {
      ^bb0(%44: index):
        %45 = memref.load %7[%44] : memref<512xf32>
        %46 = arith.constant 1.000000e+00 : f32
        %47 = arith.divf %46, %45 : f32
        memref.store %47, %7[%44] : memref<512xf32>
      }
      scf.for %48 = %18 to %25 step %24 {
        %49 = arith.constant 0 : index
        rt.lanes %49 to %15 {
        ^bb0(%50: index):
          %51 = arith.addi %12, %50 : index
          %52 = memref.load %5[%17, %48, %51] : memref<1x3x1000xf32>
          %53 = memref.load %7[%50] : memref<512xf32>
          %54 = arith.mulf %52, %53 : f32
          %55 = arith.addi %12, %50 : index
          memref.store %54, %5[%17, %48, %55] : memref<1x3x1000xf32>
        }
      }
      rt.yield
    } : (tensor<1x3x1000xf32>) -> tensor<1x3x1000xf32>
    %4 = tensor.collapse_shape %3 [[0 : i64, 1 : i64, 2 : i64]] : tensor<1x3x1000xf32> into tensor<3000xf32>
    %5 = tensor.expand_shape %4 [[0 : i64, 1 : i64, 2 : i64]] output_shape [3, 20, 50] : tensor<3000xf32> into tensor<3x20x50xf32>
    func.return %5 : tensor<3x20x50xf32>
  }
}
