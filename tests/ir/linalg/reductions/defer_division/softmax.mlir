// passes: defer-division
builtin.module {
  func.func @network(%0: tensor<2x5x6xf32>, %1: tensor<2x6x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>) attributes {inputs = ["input0", "input1"], outputs = ["output0", "output1"]} {
    %2 = tensor.empty() : tensor<2x5xf32>
    %3 = arith.constant 0xff800000 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<2x5xf32>) -> tensor<2x5xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0 : tensor<2x5x6xf32>) outs(%4 : tensor<2x5xf32>) {
    ^bb0(%6: f32, %7: f32):
      %8 = arith.maxnumf %7, %6 : f32
      linalg.yield %8 : f32
    } -> tensor<2x5xf32>
    %9 = tensor.empty() : tensor<2x5x6xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %5 : tensor<2x5x6xf32>, tensor<2x5xf32>) outs(%9 : tensor<2x5x6xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.subf %11, %12 : f32
      %15 = math.exp %14 : f32
      linalg.yield %15 : f32
    } -> tensor<2x5x6xf32>
    %16 = tensor.empty() : tensor<2x5xf32>
    %17 = arith.constant 0.000000e+00 : f32
    %18 = linalg.fill ins(%17 : f32) outs(%16 : tensor<2x5xf32>) -> tensor<2x5xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%10 : tensor<2x5x6xf32>) outs(%18 : tensor<2x5xf32>) {
    ^bb0(%20: f32, %21: f32):
      %22 = arith.addf %21, %20 : f32
      linalg.yield %22 : f32
    } -> tensor<2x5xf32>
    %23 = tensor.empty() : tensor<2x5x6xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%10, %19 : tensor<2x5x6xf32>, tensor<2x5xf32>) outs(%23 : tensor<2x5x6xf32>) {
    ^bb0(%25: f32, %26: f32, %27: f32):
      %28 = arith.divf %25, %26 : f32
      linalg.yield %28 : f32
    } -> tensor<2x5x6xf32>
    %29 = tensor.empty() : tensor<5x2x3xf32>
    %30 = arith.constant 0.000000e+00 : f32
    %31 = linalg.fill ins(%30 : f32) outs(%29 : tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%24, %1 : tensor<2x5x6xf32>, tensor<2x6x3xf32>) outs(%31 : tensor<5x2x3xf32>) {
    ^bb0(%33: f32, %34: f32, %35: f32):
      %36 = arith.mulf %33, %34 : f32
      %37 = arith.addf %35, %36 : f32
      linalg.yield %37 : f32
    } -> tensor<5x2x3xf32>
    %38 = tensor.empty() : tensor<2x6xf32>
    %39 = arith.constant 0xff800000 : f32
    %40 = linalg.fill ins(%39 : f32) outs(%38 : tensor<2x6xf32>) -> tensor<2x6xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"], doc = "layer"} ins(%0 : tensor<2x5x6xf32>) outs(%40 : tensor<2x6xf32>) {
    ^bb0(%42: f32, %43: f32):
      %44 = arith.maxnumf %43, %42 : f32
      linalg.yield %44 : f32
    } -> tensor<2x6xf32>
    %45 = tensor.empty() : tensor<2x5x6xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %41 : tensor<2x5x6xf32>, tensor<2x6xf32>) outs(%45 : tensor<2x5x6xf32>) {
    ^bb0(%47: f32, %48: f32, %49: f32):
      %50 = arith.subf %47, %48 : f32
      %51 = math.exp %50 : f32
      linalg.yield %51 : f32
    } -> tensor<2x5x6xf32>
    %52 = tensor.empty() : tensor<2x6xf32>
    %53 = arith.constant 0.000000e+00 : f32
    %54 = linalg.fill ins(%53 : f32) outs(%52 : tensor<2x6xf32>) -> tensor<2x6xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"], doc = "layer"} ins(%46 : tensor<2x5x6xf32>) outs(%54 : tensor<2x6xf32>) {
    ^bb0(%56: f32, %57: f32):
      %58 = arith.addf %57, %56 : f32
      linalg.yield %58 : f32
    } -> tensor<2x6xf32>
    %59 = tensor.empty() : tensor<2x5x6xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%46, %55 : tensor<2x5x6xf32>, tensor<2x6xf32>) outs(%59 : tensor<2x5x6xf32>) {
    ^bb0(%61: f32, %62: f32, %63: f32):
      %64 = arith.divf %61, %62 : f32
      linalg.yield %64 : f32
    } -> tensor<2x5x6xf32>
    %65 = tensor.empty() : tensor<5x2x3xf32>
    %66 = arith.constant 0.000000e+00 : f32
    %67 = linalg.fill ins(%66 : f32) outs(%65 : tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%60, %1 : tensor<2x5x6xf32>, tensor<2x6x3xf32>) outs(%67 : tensor<5x2x3xf32>) {
    ^bb0(%69: f32, %70: f32, %71: f32):
      %72 = arith.mulf %69, %70 : f32
      %73 = arith.addf %71, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<5x2x3xf32>
    func.return %32, %68 : tensor<5x2x3xf32>, tensor<5x2x3xf32>
  }
}
// -- becomes --
builtin.module {
  func.func @network(%0: tensor<2x5x6xf32>, %1: tensor<2x6x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>) attributes {inputs = ["input0", "input1"], outputs = ["output0", "output1"]} {
    %2 = tensor.empty() : tensor<2x5xf32>
    %3 = arith.constant 0xff800000 : f32
    %4 = linalg.fill ins(%3 : f32) outs(%2 : tensor<2x5xf32>) -> tensor<2x5xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%0 : tensor<2x5x6xf32>) outs(%4 : tensor<2x5xf32>) {
    ^bb0(%6: f32, %7: f32):
      %8 = arith.maxnumf %7, %6 : f32
      linalg.yield %8 : f32
    } -> tensor<2x5xf32>
    %9 = tensor.empty() : tensor<2x5x6xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %5 : tensor<2x5x6xf32>, tensor<2x5xf32>) outs(%9 : tensor<2x5x6xf32>) {
    ^bb0(%11: f32, %12: f32, %13: f32):
      %14 = arith.subf %11, %12 : f32
      %15 = math.exp %14 : f32
      linalg.yield %15 : f32
    } -> tensor<2x5x6xf32>
    %16 = tensor.empty() : tensor<2x5xf32>
    %17 = arith.constant 0.000000e+00 : f32
    %18 = linalg.fill ins(%17 : f32) outs(%16 : tensor<2x5xf32>) -> tensor<2x5xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"], doc = "layer"} ins(%10 : tensor<2x5x6xf32>) outs(%18 : tensor<2x5xf32>) {
    ^bb0(%20: f32, %21: f32):
      %22 = arith.addf %21, %20 : f32
      linalg.yield %22 : f32
    } -> tensor<2x5xf32>
    %23 = tensor.empty() : tensor<5x2x3xf32>
    %24 = arith.constant 0.000000e+00 : f32
    %25 = linalg.fill ins(%24 : f32) outs(%23 : tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%10, %1 : tensor<2x5x6xf32>, tensor<2x6x3xf32>) outs(%25 : tensor<5x2x3xf32>) {
    ^bb0(%27: f32, %28: f32, %29: f32):
      %30 = arith.mulf %27, %28 : f32
      %31 = arith.addf %29, %30 : f32
      linalg.yield %31 : f32
    } -> tensor<5x2x3xf32>
    %32 = tensor.empty() : tensor<5x2x3xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%26, %19 : tensor<5x2x3xf32>, tensor<2x5xf32>) outs(%32 : tensor<5x2x3xf32>) {
    ^bb0(%34: f32, %35: f32, %36: f32):
      %37 = arith.divf %34, %35 : f32
      linalg.yield %37 : f32
    } -> tensor<5x2x3xf32>
    %38 = tensor.empty() : tensor<2x6xf32>
    %39 = arith.constant 0xff800000 : f32
    %40 = linalg.fill ins(%39 : f32) outs(%38 : tensor<2x6xf32>) -> tensor<2x6xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"], doc = "layer"} ins(%0 : tensor<2x5x6xf32>) outs(%40 : tensor<2x6xf32>) {
    ^bb0(%42: f32, %43: f32):
      %44 = arith.maxnumf %43, %42 : f32
      linalg.yield %44 : f32
    } -> tensor<2x6xf32>
    %45 = tensor.empty() : tensor<2x5x6xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%0, %41 : tensor<2x5x6xf32>, tensor<2x6xf32>) outs(%45 : tensor<2x5x6xf32>) {
    ^bb0(%47: f32, %48: f32, %49: f32):
      %50 = arith.subf %47, %48 : f32
      %51 = math.exp %50 : f32
      linalg.yield %51 : f32
    } -> tensor<2x5x6xf32>
    %52 = tensor.empty() : tensor<2x6xf32>
    %53 = arith.constant 0.000000e+00 : f32
    %54 = linalg.fill ins(%53 : f32) outs(%52 : tensor<2x6xf32>) -> tensor<2x6xf32>
    %55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"], doc = "layer"} ins(%46 : tensor<2x5x6xf32>) outs(%54 : tensor<2x6xf32>) {
    ^bb0(%56: f32, %57: f32):
      %58 = arith.addf %57, %56 : f32
      linalg.yield %58 : f32
    } -> tensor<2x6xf32>
    %59 = tensor.empty() : tensor<2x5x6xf32>
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"], doc = "layer"} ins(%46, %55 : tensor<2x5x6xf32>, tensor<2x6xf32>) outs(%59 : tensor<2x5x6xf32>) {
    ^bb0(%61: f32, %62: f32, %63: f32):
      %64 = arith.divf %61, %62 : f32
      linalg.yield %64 : f32
    } -> tensor<2x5x6xf32>
    %65 = tensor.empty() : tensor<5x2x3xf32>
    %66 = arith.constant 0.000000e+00 : f32
    %67 = linalg.fill ins(%66 : f32) outs(%65 : tensor<5x2x3xf32>) -> tensor<5x2x3xf32>
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"], doc = "layer"} ins(%60, %1 : tensor<2x5x6xf32>, tensor<2x6x3xf32>) outs(%67 : tensor<5x2x3xf32>) {
    ^bb0(%69: f32, %70: f32, %71: f32):
      %72 = arith.mulf %69, %70 : f32
      %73 = arith.addf %71, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<5x2x3xf32>
    func.return %33, %68 : tensor<5x2x3xf32>, tensor<5x2x3xf32>
  }
}
