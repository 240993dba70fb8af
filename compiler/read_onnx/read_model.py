"""Reads an .onnx file: the entry point of this folder.

module = read_model("net.onnx")
print(module)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

import ncc.dialects.onnx  # fills the table of operators
from ncc.compiler.diagnostics import Unsupported
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
    _check_versions(model)
    model = inlined(model)
    return build(model, path, Initializers(model.graph, path, data), outputs)


def _check_versions(model: Any) -> None:
    """Raise where the op set is older than those that are read, or newer than those known here."""
    newest = package().defs.onnx_opset_version()
    for imported in model.opset_import:
        if imported.domain not in ("", "ai.onnx"):
            continue
        if imported.version < OLDEST:
            raise Unsupported(
                f"the op set {imported.version}",
                nearest=f"{OLDEST}, the oldest that is read",
                how="onnx.version_converter makes a newer one",
            )
        if imported.version > newest:
            raise Unsupported(
                f"the op set {imported.version}",
                nearest=f"{newest}, the newest that the package onnx knows",
                how="pip install --upgrade onnx",
            )
