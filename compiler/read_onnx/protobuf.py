"""The bytes of an .onnx file as a message of the `onnx` package, if that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ncc.compiler.diagnostics import ModelError, NccError, Problem
from ncc.runtime.file_kinds import HEAD, ONNX, other_kind

INSTALL = "pip install 'ncnn-compiler[onnx]'"


def package() -> Any:
    """The `onnx` package. Raises NccError, with the command that installs it."""
    try:
        import onnx
    except ImportError:
        raise NccError(f"to read .onnx files takes the package onnx: {INSTALL}") from None
    return onnx


def bytes_of(path: str) -> bytes:
    """The bytes of a file. Raises ModelError where it cannot be read, or is of another kind."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(Problem(f"the file cannot be read: {reason}", path=path)) from None
    found = other_kind(path, data[:HEAD], ONNX)
    if found is not None:
        what, how = found
        raise ModelError(Problem(f"this is {what}; here an .onnx is wanted", path=path, how=how))
    return data


def parsed(data: bytes, path: str) -> Any:
    """The ModelProto of the bytes of a file; data outside of it is not read. Raises ModelError."""
    onnx = package()
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
