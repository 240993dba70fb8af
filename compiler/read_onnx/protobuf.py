"""The bytes of an .onnx file as a message of the `onnx` package, if that is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ncc.compiler.diagnostics import ModelError, NccError, Problem
from ncc.runtime.file_kinds import HEAD, ONNX, other_kind
from ncc.runtime.memory_files import shown_path

GRAPH = 5
"""ONNX's number of an attribute that is a graph."""

INSTALL = "pip install 'ncnn-compiler[onnx]'"


def package() -> Any:
    """The `onnx` package. Raises NccError, with the command that installs it."""
    try:
        import onnx
    except ImportError:
        raise NccError(f"to read .onnx files takes the package onnx: {INSTALL}") from None
    return onnx


def refusals() -> tuple[type[Exception], ...]:
    """The errors by which the package says that a model is wrong."""
    from onnx.checker import ValidationError
    from onnx.shape_inference import InferenceError
    from onnx.version_converter import ConvertError

    return ValidationError, InferenceError, ConvertError


def bytes_of(path: str) -> bytes:
    """The bytes of a file. Raises ModelError where it cannot be read, or is of another kind."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"the file cannot be read: {reason}"
        raise ModelError(Problem(message, path=shown_path(path))) from None
    found = other_kind(path, data[:HEAD], ONNX)
    if found is not None:
        what, how = found
        message = f"this is {what}; here an .onnx is wanted"
        raise ModelError(Problem(message, path=shown_path(path), how=how))
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
    if not all(isinstance(name, str) for name in _texts(model)):
        raise ModelError(Problem("is no ONNX model: one of its names is no text", path=path))
    return model


def _texts(model: Any) -> Iterator[object]:
    """All names; where bytes are no UTF-8 a message has them as they are."""
    for imported in model.opset_import:
        yield imported.domain
    yield from _texts_of_graph(model.graph)
    for function in model.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
        yield from (text for node in function.node for text in _texts_of_node(node))


def _texts_of_graph(graph: Any) -> Iterator[object]:
    for info in (*graph.input, *graph.output):
        yield info.name
    for tensor in graph.initializer:
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))
    for node in graph.node:
        yield from _texts_of_node(node)


def _texts_of_node(node: Any) -> Iterator[object]:
    yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
    for attribute in node.attribute:
        yield attribute.name
        if attribute.type == GRAPH:
            yield from _texts_of_graph(attribute.g)
