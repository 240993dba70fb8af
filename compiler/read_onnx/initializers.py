"""The initializers of a graph as weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.read_onnx.tensors import array_of
from ncc.dialects.weights.weight import WeightAttr


class Initializers:
    """The tensors that a graph holds, by name."""

    def __init__(self, graph: Any) -> None:
        self._tensors = list(graph.initializer)
        self._sparse = list(graph.sparse_initializer)
        if self._sparse:
            raise Unsupported("sparse initializers")
        self._by_name = {tensor.name: tensor for tensor in self._tensors}

    @property
    def names(self) -> Sequence[str]:
        """All names in order."""
        return [tensor.name for tensor in self._tensors]

    def weight(self, name: str) -> WeightAttr:
        """The values of one. Raises `BrokenTensor` and `Unsupported`."""
        return WeightAttr.typed(array_of(self._by_name[name]))
