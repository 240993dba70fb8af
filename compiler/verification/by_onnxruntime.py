"""Sessions of onnxruntime, which give any value of a graph."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ncc.compiler.read_onnx.protobuf import bytes_of, parsed
from ncc.runtime.errors import InputError
from ncc.runtime.paths import PathLike


@contextmanager
def session_of(path: PathLike, values: Sequence[str] = ()) -> Iterator[Any]:
    """A session of an .onnx that has more values of its graph as outputs.

    What onnxruntime raises inside becomes an InputError.
    """
    import onnx
    import onnxruntime

    model = parsed(bytes_of(os.fspath(path)), os.fspath(path))
    known = {info.name for info in model.graph.output}
    more = [name for name in dict.fromkeys(values) if name not in known]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in more)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Where the model would have been: data beside it is found there.
    folder = os.path.dirname(os.path.abspath(path))
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    try:
        yield onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except InputError:
        raise
    except Exception as error:  # its errors have no class in common
        reason = str(error).splitlines()[0]
        raise InputError(f"onnxruntime refuses {os.fspath(path)}: {reason}") from error


def names_made(path: PathLike) -> set[str]:
    """The values that the nodes of a graph make."""
    graph = parsed(bytes_of(os.fspath(path)), os.fspath(path)).graph
    return {name for node in graph.node for name in node.output if name}
