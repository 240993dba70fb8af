"""The initializers of a graph as weights: large ones stay in their files.

Values stand in the .onnx, or in other files of its folder. These are mapped where values are asked
for. A path that leaves the folder, by `..`, as an absolute path or through a link, is refused: a
model could have any file read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.read_onnx.tensors import EXTERNAL, BrokenTensor, array_of, element
from ncc.dialects.element import dtype_of, ui16
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.stored import Raw
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.memory_files import shown_path

LARGE = 4096
"""Bytes from which on values stay in the file."""


class Initializers:
    """The tensors that a graph holds, by name. data: the bytes of the file at `path`."""

    def __init__(self, graph: Any, path: str, data: bytes = b"") -> None:
        for sparse in graph.sparse_initializer:
            raise Unsupported(f"the sparse initializer {sparse.values.name!r}")
        self._tensors = list(graph.initializer)
        self._by_name = {tensor.name: tensor for tensor in self._tensors}
        self._path = path if os.path.isabs(path) else os.path.abspath(path)
        self._data = data
        self._behind = 0

    def of(self, graph: Any) -> Initializers:
        """Those of a graph inside of this one."""
        return Initializers(graph, self._path, self._data)

    @property
    def names(self) -> Sequence[str]:
        """All names in order."""
        return [tensor.name for tensor in self._tensors]

    def weight(self, name: str) -> WeightAttr:
        """The values of one. Raises `BrokenTensor` and `Unsupported`."""
        tensor = self._by_name[name]
        if tensor.data_location == EXTERNAL:
            return self._external(tensor)
        array = array_of(tensor)
        if array.nbytes >= LARGE and tensor.HasField("raw_data"):
            at = self._place_of(tensor.raw_data)
            if at >= 0:
                return _raw(tensor, self._path, at)
        return WeightAttr.typed(array)

    def _place_of(self, raw: bytes) -> int:
        """Where the file has these bytes, which follow those of earlier tensors in most files."""
        at = self._data.find(raw, self._behind)
        if at < 0:
            return self._data.find(raw)
        self._behind = at + len(raw)
        return at

    def _external(self, tensor: Any) -> WeightAttr:
        """The values in another file of the folder."""
        said = {entry.key: entry.value for entry in tensor.external_data}
        path = self._inside(said.get("location", ""))
        dtype, shape = (
            dtype_of(element(tensor.data_type, f"the tensor {tensor.name!r}")),
            _shape(tensor),
        )
        wanted = prod(shape) * dtype.itemsize
        offset, length = _number(said, "offset", 0), _number(said, "length", wanted)
        size = os.stat(path).st_size
        if length != wanted:
            raise BrokenTensor(f"has {length} bytes in {said['location']!r}, not {wanted}")
        if offset + length > size:
            raise BrokenTensor(
                f"ends at byte {offset + length} of {said['location']!r}, which has {size}"
            )
        if not wanted:
            return WeightAttr.typed(array_of(tensor, b""))
        return _raw(tensor, path, offset)

    def _inside(self, location: str) -> str:
        """The path of a file in the folder of the model."""
        folder = os.path.realpath(os.path.dirname(shown_path(self._path)))
        if "\0" in location:
            raise BrokenTensor(f"has its values in {location!r}, which is no path")
        path = os.path.realpath(os.path.join(folder, location))
        if not location or os.path.isabs(location) or os.path.commonpath([folder, path]) != folder:
            raise BrokenTensor(f"has its values in {location!r}, outside of the model's folder")
        try:
            kind = os.stat(path).st_mode
        except OSError as error:
            reason = error.strerror or str(error)
            raise BrokenTensor(f"has its values in {location!r}: {reason}") from None
        if not stat.S_ISREG(kind):
            raise BrokenTensor(f"has its values in {location!r}, which is no file")
        return path


def _raw(tensor: Any, path: str, offset: int) -> WeightAttr:
    kind = element(tensor.data_type, f"the tensor {tensor.name!r}")
    if kind == ui16:
        raise Unsupported(f"the tensor {tensor.name!r} of uint16 in a file")
    return WeightAttr(Weights(_shape(tensor), Raw(path, offset, dtype_of(kind).str[1:])))


def _shape(tensor: Any) -> Shape:
    shape = tuple(map(int, tensor.dims))
    if any(extent < 0 for extent in shape):
        raise BrokenTensor(f"has the extents {shape}")
    return shape


def _number(said: Mapping[str, str], key: str, default: int) -> int:
    text = said.get(key, str(default))
    if not text.isdecimal():
        raise BrokenTensor(f"has the {key} {text!r} in another file")
    return int(text)
