"""Reads a network of whatever format: ncnn's .param and .bin, or an .onnx."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.plausible import StoredNumbers
from ncc.compiler.read.read_network import read
from ncc.dialects.weights.stored import Raw
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import is_onnx
from ncc.runtime.memory_files import FileLike, file_of
from ncc.runtime.paths import PathLike


class NetworkFile(NamedTuple):
    """A network as its file describes it, and what `ReadResult` says besides."""

    module: ModuleOp
    warnings: tuple[str, ...] = ()
    numbers: tuple[StoredNumbers, ...] = ()


def weights_path(path: PathLike) -> str:
    """The file that has the weights of a network, by default: an .onnx has its own."""
    return os.fspath(path) if is_onnx(path) else default_bin_path(path)


def read_network(
    path: FileLike,
    bin: FileLike | None = None,
    *,
    random_weights: int | None = None,
    outputs: Sequence[str] | None = None,
) -> NetworkFile:
    """The network of a .param or an .onnx; the other arguments as for `read`.

    Raises InputError where an .onnx, which has its weights, is given others.
    """
    path = file_of(path, "the network")
    if not is_onnx(path):
        found = read(path, bin, random_weights=random_weights, outputs=outputs)
        return NetworkFile(found.module, found.warnings, found.numbers)
    if bin is not None:
        raise InputError("an .onnx has its weights: no .bin belongs to it")
    if random_weights is not None:
        raise InputError("an .onnx has its weights: none are made up")
    from ncc.compiler.read_onnx.read_model import read_model

    return NetworkFile(read_model(path, outputs))


def files_beside(module: ModuleOp, path: PathLike) -> Mapping[str, tuple[int, int]]:
    """The other files that weights of an .onnx lie in, with their times and sizes."""
    own = os.path.abspath(path)
    held = (weight for op in module.walk() for weight in op.properties.values())
    sources = (weight.data.source for weight in held if isinstance(weight, WeightAttr))
    paths = {source.path for source in sources if isinstance(source, Raw)} - {own}
    return {path: _state(path) for path in sorted(paths)}


def _state(path: str) -> tuple[int, int]:
    """The time and the size of a file; of none if it is gone."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
