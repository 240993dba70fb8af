"""ncc: an MLIR-style compiler for ncnn networks."""
