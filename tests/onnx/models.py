"""Small ONNX models to test with, and the check of one operator.

check_operator("Transpose", {"perm": [1, 0]}, [x], expected=[x.T])
check_operator("Reshape", {}, [x], constants={1: np.array([2, 3])})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ncc.compiler.driver.compile import compile_with
from ncc.compiler.ncnn.convert_to_linalg import expand_network
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.options import Options
from ncc.compiler.read_onnx.build_module import build
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.dialects.code import CodeOp
from ncc.dialects.element import dtype_of, element_of
from ncc.dialects.ncnn.layer import Array, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.onnx import dialect as dialect
from tests.structured.evaluate import evaluate

OPSET = 21


def model(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[int | str] | Array],
    outputs: Sequence[str],
    initializers: Mapping[str, Array] | None = None,
    opset: int = OPSET,
    **more: Any,
) -> Any:
    """A ModelProto. inputs: shapes of float32, or arrays that have shape and type."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [_info(name, given) for name, given in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (initializers or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)


def _info(name: str, given: Sequence[int | str] | Array) -> Any:
    if isinstance(given, np.ndarray):
        kind = helper.np_dtype_to_tensor_dtype(given.dtype)
        return helper.make_tensor_value_info(name, kind, given.shape)
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, given)


def written(folder: Path, made: Any, name: str = "net.onnx") -> Path:
    """The path of a model that is written to a folder."""
    path = folder / name
    path.write_bytes(made.SerializeToString())
    return path


def from_text(text: str) -> Any:
    """The model of a graph in the text of the package onnx."""
    imports = f'"" : {OPSET}, "com.microsoft" : 1'
    return onnx.parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> agraph {text}")


def run(made: Any, fed: Mapping[str, Array], level: int = 0) -> list[Array]:
    """What compiled code makes of a model: numpy does not evaluate statements."""
    with TemporaryDirectory() as folder:
        path = str(written(Path(folder), made))
        compiled = compile_with(path, None, Options.of(opt_level=level, tuned=False))
        return list(compiled.run(dict(fed)).values())


def run_by_onnxruntime(made: Any, fed: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime makes of a model as it stands."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    return list(session.run(None, dict(fed)))


def check_operator(
    kind: str,
    attributes: Mapping[str, Any],
    inputs: Sequence[Array | None],
    *,
    constants: Mapping[int, Array] | None = None,
    expected: Sequence[Array] | None = None,
    outputs: int = 1,
    opset: int = OPSET,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> list[Array]:
    """Judge shapes, element types, reference and lowering of one operator.

    inputs: by position; None is left out. constants: inputs that are initializers. Without
    `expected` the lowering is judged by the reference. Returns what was expected.
    """
    constants = dict(constants or {})
    count = max([len(inputs), *(place + 1 for place in constants)])
    given = {k: array for k, array in enumerate(inputs) if array is not None}
    names = [f"x{k}" if k in given or k in constants else "" for k in range(count)]
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(kind, names, results, "node", **attributes)
    fed = {f"x{k}": array for k, array in given.items() if k not in constants}
    held = {f"x{k}": array for k, array in constants.items()}
    made = model([node], fed, results, held, opset)
    module = build(made, "net.onnx", Initializers(made.graph, "net.onnx"))
    op = Network.of(module).layers[-1]
    infer_shapes(module)
    arrays = [{**fed, **held}[name] for name in names if name]
    computed = op.reference_all(arrays)
    wanted = computed if expected is None else list(expected)
    expanded = expand_network(Network.of(module))
    if any(isinstance(inner, CodeOp) for inner in expanded.walk()):
        found: Sequence[Array] = run(made, fed)
    else:
        found = evaluate(expanded, [np.atleast_1d(array) for array in fed.values()])
    for k, result in enumerate(op.results):
        assert shape_of(result) == wanted[k].shape, "the shape"
        assert dtype_of(element_of(result)) == wanted[k].dtype, "the element type"
        np.testing.assert_allclose(computed[k], wanted[k], rtol, atol, err_msg="the reference")
        lowered = np.asarray(found[k]).reshape(wanted[k].shape)
        np.testing.assert_allclose(lowered, wanted[k], rtol, atol, err_msg="the lowering")
    return wanted
