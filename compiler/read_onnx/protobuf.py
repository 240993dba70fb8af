"""The bytes of an .onnx file as a message of the `onnx` package, if that is installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ncc.compiler.diagnostics import ModelError, NccError, Problem

INSTALL = "pip install 'ncnn-compiler[onnx]'"


def package() -> Any:
    """The `onnx` package. Raises NccError, with the command that installs it."""
    try:
        import onnx
    except ImportError:
        raise NccError(f"to read .onnx files takes the package onnx: {INSTALL}") from None
    return onnx


def load(path: str | os.PathLike[str]) -> Any:
    """The ModelProto of a file; data outside of it is not read. Raises ModelError."""
    onnx = package()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(Problem(f"cannot be read: {reason}", path=path)) from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # google.protobuf.message.DecodeError, wherever it lives
        if type(error).__name__ != "DecodeError":
            raise
        raise ModelError(
            Problem("is no ONNX model, or is cut off: its bytes are no such message", path=path)
        ) from None
    if not model.HasField("graph"):
        raise ModelError(Problem("is no ONNX model: it has no graph", path=path))
    return model
