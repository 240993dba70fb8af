"""Finds layers that compute the same: a table, by a key that must be equal."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import sha256
from itertools import takewhile
from math import prod
from typing import TypeVar

from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from ncc.dialects.weights.sources import Weights

L = TypeVar("L", bound=Layer)

FIRST_VALUES = 16
"""How many values of a constant are looked at before all of them: most constants differ there."""


class Twins:
    """The layers that were looked at, in the order of the network, by what must be equal of two
    that compute the same.
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, Layer] = {}

    @classmethod
    def before(cls, op: Layer) -> Twins:
        """All layers in front of one, looked at."""
        twins = cls()
        ops = () if op.parent is None else op.parent.ops
        for other in takewhile(lambda other: other is not op, ops):
            if isinstance(other, Layer):
                twins.twin_of(other)
        return twins

    def twin_of(self, op: Layer) -> Layer | None:
        """The layer looked at before this one that reads the same and says the same.

        All values of constants are looked at only where the first ones are the same.
        """
        if not isinstance(op, MemoryDataOp):
            return self._first(op, _saying) if op.operands else None
        alike = self._first(op, _beginning)
        if alike is None:
            return None
        self._first(alike, _whole)
        return self._first(op, _whole)

    def _first(self, op: L, saying: Callable[[L], Hashable]) -> L | None:
        """The first layer in front of this one with its saying that still says so."""
        said = saying(op)
        other = self._seen.get(said)
        if (
            isinstance(other, type(op))
            and other is not op
            and other.is_before_in_block(op)
            and saying(other) == said
        ):
            return other
        self._seen[said] = op
        return None


def _saying(op: Layer) -> Hashable:
    """The key that is equal for two layers that compute the same."""
    declared = op.LAYER
    return (
        type(op),
        tuple(repr(getattr(op, name)) for name in declared.params),  # 0.0 equals -0.0
        tuple(op.properties.get(name) for name in declared.weights),
        tuple(op.operands),
        tuple(op.result_types),
    )


def _beginning(op: MemoryDataOp) -> Hashable:
    """The shape, the type and the first values of a constant."""
    values = op.values.data
    return op.shape, values.dtype, _bits(values, FIRST_VALUES)


def _whole(op: MemoryDataOp) -> Hashable:
    """The shape, the type and a digest of all values of a constant."""
    values = op.values.data
    return op.shape, values.dtype, sha256(_bits(values)).digest()


def _bits(values: Weights, most: int | None = None) -> bytes:
    """The bits of all values, or of the first ones."""
    count = prod(values.shape)
    return values.source.read(count if most is None else min(most, count)).tobytes()
