// passes: convert-ncnn-to-linalg,fuse-softmax
// Fires along rows: an iteration takes eight of them.
builtin.module {
  func.func @network() -> tensor<10x80xf32> attributes {outputs = ["y"]} {
    %x = ncnn.Input() {layer = "x", blobs = ["x"], line = 3 : i32, w = 80 : i32, h = 10 : i32} : () -> tensor<10x80xf32>
    %y = ncnn.Softmax(%x) {layer = "y", blobs = ["y"], line = 4 : i32, axis = 1 : i32, fixbug0 = 1 : i32} : (tensor<10x80xf32>) -> tensor<10x80xf32>
    func.return %y : tensor<10x80xf32>
  }
}
// -- changes --
// erased: %x, %y
// arguments: %x_1
%y_1 = rt.code(%x_1) scratch [memref<8xf32>, memref<8xf32>] iterations 2 attributes {doc = "y"} {
^bb0(%0: memref<10x80xf32>, %1: memref<10x80xf32>, %2: memref<8xf32>, %3: memref<8xf32>, %4: index):
  %5 = arith.constant 8 : index
  %6 = arith.muli %4, %5 : index
  %7 = arith.constant 10 : index
  %8 = arith.subi %7, %6 : index
  %9 = arith.minsi %8, %5 : index
  %10 = arith.constant 0 : index
  %11 = arith.constant 1 : index
  scf.for %12 = %10 to %9 step %11 {
    %13 = arith.addi %6, %12 : index
    %14 = arith.constant 0xff800000 : f32
    %15 = arith.constant 0 : index
    %16 = arith.constant 80 : index
    %17 = rt.reduce "max" from %14, %15 to %16 {
    ^bb0(%18: index):
      %19 = memref.load %0[%13, %18] : memref<10x80xf32>
      rt.reduce.return %19 : f32
    } : f32
    memref.store %17, %2[%12] : memref<8xf32>
  }
  scf.for %20 = %10 to %9 step %11 {
    %21 = arith.addi %6, %20 : index
    %22 = arith.addi %6, %20 : index
    %23 = memref.load %2[%20] : memref<8xf32>
    %24 = arith.constant 0 : index
    %25 = arith.constant 80 : index
    rt.lanes %24 to %25 {
    ^bb0(%26: index):
      %27 = memref.load %0[%21, %26] : memref<10x80xf32>
      %28 = arith.subf %27, %23 : f32
      %29 = math.exp %28 : f32
      memref.store %29, %1[%22, %26] : memref<10x80xf32>
    }
  }
  scf.for %30 = %10 to %9 step %11 {
    %31 = arith.addi %6, %30 : index
    %32 = arith.constant 0.000000e+00 : f32
    %33 = arith.constant 0 : index
    %34 = arith.constant 80 : index
    %35 = rt.reduce "add" from %32, %33 to %34 {
    ^bb0(%36: index):
      %37 = memref.load %1[%31, %36] : memref<10x80xf32>
      rt.reduce.return %37 : f32
    } : f32
    %38 = arith.constant 1.000000e+00 : f32
    %39 = arith.divf %38, %35 : f32
    memref.store %39, %3[%30] : memref<8xf32>
  }
  scf.for %40 = %10 to %9 step %11 {
    %41 = arith.addi %6, %40 : index
    %42 = memref.load %3[%40] : memref<8xf32>
    %43 = arith.constant 0 : index
    %44 = arith.constant 80 : index
    rt.lanes %43 to %44 {
    ^bb0(%45: index):
      %46 = memref.load %1[%41, %45] : memref<10x80xf32>
      %47 = arith.mulf %46, %42 : f32
      memref.store %47, %1[%41, %45] : memref<10x80xf32>
    }
  }
  rt.yield
} : (tensor<10x80xf32>) -> tensor<10x80xf32>
func.return %y_1 : tensor<10x80xf32>
