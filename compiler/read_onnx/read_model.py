"""Reads an .onnx file: the entry point of this folder.

module = read_model("net.onnx")
print(module)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import ncc.dialects.onnx  # fills the table of operators
from ncc.compiler.diagnostics import ModelError, Problem, Unsupported
from ncc.compiler.read_onnx.build_module import build
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.compiler.read_onnx.inline_functions import inlined
from ncc.compiler.read_onnx.protobuf import bytes_of, package, parsed, refusals
from ncc.runtime.memory_files import FileLike, file_of, shown_path

__all__ = ["read_model"]

OLDEST = 7
"""The oldest op set that is read."""

assert ncc.dialects.onnx


def read_model(path: FileLike, outputs: Sequence[str] | None = None) -> ModuleOp:
    """The network of an .onnx file.

    outputs: the values to compute; by default the outputs of the graph.

    Raises ModelError where the file is at fault, Unsupported for what ncc cannot do, NccError where
    the package onnx is missing.
    """
    path = file_of(path, "the .onnx")
    package()
    data = bytes_of(path)
    shown = shown_path(path)
    model = inlined(_of_known_version(parsed(data, shown), shown), shown)
    return build(model, shown, Initializers(model.graph, path, data), outputs)


def _of_known_version(model: Any, path: str) -> Any:
    """The model in an op set that is read. Raises `Unsupported` where the package knows none."""
    newest = package().defs.onnx_opset_version()
    for imported in model.opset_import:
        if imported.domain not in ("", "ai.onnx"):
            continue
        if imported.version < 1:
            raise ModelError(Problem(f"no op set is {imported.version}", path=path))
        if imported.version < OLDEST:
            model = _converted(model, imported.version, path)
        if imported.version > newest:
            raise Unsupported(
                f"the op set {imported.version}",
                nearest=f"{newest}, the newest that the package onnx knows",
                how="pip install --upgrade onnx",
            )
    return model


def _converted(model: Any, version: int, path: str) -> Any:
    """The model in the oldest op set that is read, as the package converts it."""
    from onnx import version_converter

    try:
        return version_converter.convert_version(_with_slopes_by_channel(model), OLDEST)
    except refusals() as error:
        raise ModelError(Problem(str(error).splitlines()[0], path=path)) from error
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        what = f"the op set {version}, which onnx cannot convert to {OLDEST}: {reason}"
        raise Unsupported(what, nearest=f"{OLDEST} and newer") from error


def _with_slopes_by_channel(model: Any) -> Any:
    """The model with slopes of PRelu that stand along the axis of channels. Since op set 7 they are
    broadcast from the last axis, and the package leaves them as they are.
    """
    if not any(node.op_type == "PRelu" for node in model.graph.node):
        return model
    onnx = package()
    graph = onnx.shape_inference.infer_shapes(model).graph
    known = [*graph.input, *graph.value_info, *graph.output]
    ranks = {one.name: len(one.type.tensor_type.shape.dim) for one in known}
    ranks |= {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    nodes = []
    for node in model.graph.node:
        if node.op_type == "PRelu" and len(node.input) == 2:
            x, slope = node.input
            if x not in ranks or slope not in ranks:
                raise Unsupported(f"PRelu of an old op set and a value {x!r} without a shape")
            if ranks[slope] == 1 and ranks[x] > 2:
                node.input[1] = f"{slope} of {node.output[0]}"
                axes = list(range(1, ranks[x] - 1))
                spread = onnx.helper.make_node("Unsqueeze", [slope], [node.input[1]], axes=axes)
                nodes.append(spread)
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model
