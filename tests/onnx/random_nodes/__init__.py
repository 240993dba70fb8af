"""Random ONNX graphs: random_graph(seed) has a file, and inputs and outputs at some sizes."""
