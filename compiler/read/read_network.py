"""Reads the files of a network: the entry point of this folder.

result = read("net.param")                        # and net.bin beside it
result = read("net.param", random_weights=7)      # no .bin needed
print(result.module)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.read.build_module import build, output_names
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.foreign import foreign, unreadable
from ncc.compiler.read.idle_layers import without_idle_layers
from ncc.compiler.read.param import read_text
from ncc.compiler.read.param_bin import is_binary, read_binary
from ncc.compiler.read.plausible import StoredNumbers
from ncc.compiler.read.records import Graph, Source
from ncc.compiler.read.weights import NoWeights, RandomWeights, StoredWeights
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import PARAM
from ncc.runtime.memory_files import FileLike, file_of, shown_path


@dataclass(frozen=True)
class ReadResult:
    """A network as it stands in its files.

    module: the ncnn ops. graph: the records they were made from, without layers that are idle
    (idle_layers.py). warnings: one line each about fields that ncnn and ncc ignore, and about
    weights that no training leaves so. numbers: the weights that were checked for that.
    """

    module: ModuleOp
    graph: Graph
    warnings: tuple[str, ...]
    numbers: tuple[StoredNumbers, ...] = ()


def read(
    param_path: FileLike,
    bin_path: FileLike | None = None,
    *,
    random_weights: int | None = None,
    outputs: Sequence[str] | None = None,
    opaque: bool = False,
) -> ReadResult:
    """Read a network from its .param, text or binary, and its .bin.

    bin_path: by default `net.bin` beside `net.param` or `net.param.bin`, needed only if a layer
    has weights. random_weights: a seed to make weights up from instead. outputs: the blobs to
    compute; by default those that no layer reads. opaque: hand layers of unknown types on as they
    are, instead of refusing them.

    Raises ModelError where the files are at fault, Unsupported where a layer type is not known to
    ncc, InputError where weights are asked from a file and from a seed at once, and for what is no
    path.
    """
    if bin_path is not None and random_weights is not None:
        raise InputError("weights come from a .bin file or from a seed, not from both")
    if bin_path is not None:
        bin_path = file_of(bin_path, "the .bin")
    param_path = file_of(param_path, "the .param")
    graph = without_idle_layers(read_graph(param_path), outputs)
    if outputs is not None and not graph.problems:
        output_names(graph, outputs)  # for its errors: names come before files
    if random_weights is not None:
        module, warnings = build(
            graph, RandomWeights(graph.source, random_weights), outputs, opaque=opaque
        )
        return ReadResult(module, graph, graph.warnings + warnings)
    path = default_bin_path(param_path) if bin_path is None else bin_path
    if bin_path is None and not os.path.exists(path):
        module, warnings = build(graph, NoWeights(graph.source, path), outputs, opaque=opaque)
        return ReadResult(module, graph, graph.warnings + warnings)
    with StoredWeights.open(graph.source, path) as weights:
        module, warnings = build(graph, weights, outputs, opaque=opaque)
        if surplus := weights.surplus():
            message = f"{surplus} bytes behind the last weight are ignored"
            warnings += (Source(shown_path(path)).warning(message),)
        numbers, warnings = tuple(weights.located), warnings + weights.implausible()
    return ReadResult(module, graph, graph.warnings + warnings, numbers)


def read_graph(path: FileLike) -> Graph:
    """The records of a .param file; whether it is text or binary is told by its first bytes.

    Raises ModelError, and InputError for what is no path.
    """
    path = file_of(path, "the .param")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise unreadable(path, PARAM, error) from None
    if (other := foreign(path, data, PARAM)) is not None:
        raise other
    name = shown_path(path)
    return read_binary(name, data) if is_binary(data) else read_text(name, data)
