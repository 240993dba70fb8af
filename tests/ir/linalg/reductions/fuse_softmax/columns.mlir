// passes: convert-ncnn-to-linalg,fuse-softmax
// Fires across rows: an iteration takes a piece of the columns.
builtin.module {
  func.func @network() -> tensor<3x20x50xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 50 : i32, h = 20 : i32, c = 3 : i32} : () -> tensor<3x20x50xf32>
    %y = ncnn.Softmax(%x) {layer = "y", blobs = ["y"], line = 4 : i32, axis = 0 : i32, fixbug0 = 1 : i32} : (tensor<3x20x50xf32>) -> tensor<3x20x50xf32>
    func.return %y : tensor<3x20x50xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%0 = tensor.collapse_shape %x_1 [[0 : i64, 1 : i64, 2 : i64]] : tensor<3x20x50xf32> into tensor<3000xf32>
%1 = tensor.expand_shape %0 [[0 : i64, 1 : i64, 2 : i64]] output_shape [1, 3, 1000] : tensor<3000xf32> into tensor<1x3x1000xf32>
%2 = rt.code(%1) scratch [memref<512xf32>, memref<512xf32>] iterations 2 attributes {doc = "y"} {
^bb0(%3: memref<1x3x1000xf32>, %4: memref<1x3x1000xf32>, %5: memref<512xf32>, %6: memref<512xf32>, %7: index):
  %8 = arith.constant 2 : index
  %9 = arith.remui %7, %8 : index
  %10 = arith.constant 512 : index
  %11 = arith.muli %9, %10 : index
  %12 = arith.constant 1000 : index
  %13 = arith.subi %12, %11 : index
  %14 = arith.minsi %13, %10 : index
  %15 = arith.divui %7, %8 : index
  %16 = arith.divui %7, %8 : index
  %17 = arith.constant 0 : index
  rt.lanes %17 to %14 {
  ^bb0(%18: index):
    %19 = arith.addi %11, %18 : index
    %20 = arith.constant 0 : index
    %21 = memref.load %3[%15, %20, %19] : memref<1x3x1000xf32>
    memref.store %21, %5[%18] : memref<512xf32>
    %22 = arith.constant 0.000000e+00 : f32
    memref.store %22, %6[%18] : memref<512xf32>
  }
  %23 = arith.constant 1 : index
  %24 = arith.constant 3 : index
  scf.for %25 = %23 to %24 step %23 {
    %26 = arith.constant 0 : index
    rt.lanes %26 to %14 {
    ^bb0(%27: index):
      %28 = memref.load %5[%27] : memref<512xf32>
      %29 = arith.addi %11, %27 : index
      %30 = memref.load %3[%15, %25, %29] : memref<1x3x1000xf32>
      %31 = arith.maxnumf %28, %30 : f32
      memref.store %31, %5[%27] : memref<512xf32>
    }
  }
  scf.for %32 = %17 to %24 step %23 {
    %33 = arith.constant 0 : index
    rt.lanes %33 to %14 {
    ^bb0(%34: index):
      %35 = arith.addi %11, %34 : index
      %36 = memref.load %3[%15, %32, %35] : memref<1x3x1000xf32>
      %37 = memref.load %5[%34] : memref<512xf32>
      %38 = arith.subf %36, %37 : f32
      %39 = math.exp %38 : f32
      %40 = arith.addi %11, %34 : index
      memref.store %39, %4[%16, %32, %40] : memref<1x3x1000xf32>
      %41 = memref.load %6[%34] : memref<512xf32>
      %42 = arith.addf %41, %39 : f32
      memref.store %42, %6[%34] : memref<512xf32>
    }
  }
  rt.lanes %17 to %14 {
  ^bb0(%43: index):
    %44 = memref.load %6[%43] : memref<512xf32>
    %45 = arith.constant 1.000000e+00 : f32
    %46 = arith.divf %45, %44 : f32
    memref.store %46, %6[%43] : memref<512xf32>
  }
  scf.for %47 = %17 to %24 step %23 {
    %48 = arith.constant 0 : index
    rt.lanes %48 to %14 {
    ^bb0(%49: index):
      %50 = arith.addi %11, %49 : index
      %51 = memref.load %4[%16, %47, %50] : memref<1x3x1000xf32>
      %52 = memref.load %6[%49] : memref<512xf32>
      %53 = arith.mulf %51, %52 : f32
      %54 = arith.addi %11, %49 : index
      memref.store %53, %4[%16, %47, %54] : memref<1x3x1000xf32>
    }
  }
  rt.yield
} : (tensor<1x3x1000xf32>) -> tensor<1x3x1000xf32>
%3 = tensor.collapse_shape %2 [[0 : i64, 1 : i64, 2 : i64]] : tensor<1x3x1000xf32> into tensor<3000xf32>
%y_1 = tensor.expand_shape %3 [[0 : i64, 1 : i64, 2 : i64]] output_shape [3, 20, 50] : tensor<3000xf32> into tensor<3x20x50xf32>
func.return %y_1 : tensor<3x20x50xf32>
