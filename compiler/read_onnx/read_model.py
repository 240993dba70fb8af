"""Reads an .onnx file: the entry point of this folder.

module = read_model("net.onnx")
print(module)
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

import ncc.dialects.onnx  # fills the table of operators
from ncc.compiler.diagnostics import ModelError, Problem
from ncc.compiler.read_onnx.build_module import build
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.compiler.read_onnx.inline_functions import inlined
from ncc.compiler.read_onnx.protobuf import bytes_of, package, parsed
from ncc.runtime.paths import path_of

__all__ = ["read_model"]

OLDEST = 7
"""The oldest op set that is read."""

assert ncc.dialects.onnx


def read_model(path: str | os.PathLike[str], outputs: Sequence[str] | None = None) -> ModuleOp:
    """The network of an .onnx file.

    outputs: the values to compute; by default the outputs of the graph.

    Raises ModelError where the file is at fault, Unsupported for what ncc cannot do, NccError where
    the package onnx is missing.
    """
    path = path_of(path, "the .onnx")
    package()
    data = bytes_of(path)
    model = parsed(data, path)
    for imported in model.opset_import:
        if imported.domain in ("", "ai.onnx") and imported.version < OLDEST:
            problem = (
                f"the op set {imported.version} is too old: {OLDEST} is the oldest that is read"
            )
            raise ModelError(
                Problem(problem, path=path, how="onnx.version_converter makes a newer one")
            )
    model = inlined(model)
    return build(model, path, Initializers(model.graph, path, data), outputs)
