"""Which layer has computed what another one computes: a table by what must be equal of both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from itertools import takewhile
from math import prod
from typing import TypeAlias, TypeVar

from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from ncc.dialects.sources import Weights

L = TypeVar("L", bound=Layer)

FIRST_VALUES = 16
"""How many values of a constant are looked at before all of them: most constants differ there."""

_Seen: TypeAlias = dict[Hashable, Layer]
"""The first layer that was looked at of each saying."""

_seen: ContextVar[_Seen | None] = ContextVar("seen", default=None)


@contextmanager
def sweeping() -> Iterator[None]:
    """In this block layers are looked at in order: each finds its twin among those before it.

    Elsewhere all layers in front of one are looked at first.
    """
    token = _seen.set({})
    try:
        yield
    finally:
        _seen.reset(token)


def twin_of(op: Layer) -> Layer | None:
    """The layer in front of this one that reads the same and says the same."""
    seen = _seen.get()
    if seen is None:
        seen = {}
        for other in _layers_before(op):
            _twin(other, seen)
    return _twin(op, seen)


def _layers_before(op: Layer) -> Iterator[Layer]:
    ops = () if op.parent is None else op.parent.ops
    for other in takewhile(lambda other: other is not op, ops):
        if isinstance(other, Layer):
            yield other


def _twin(op: Layer, seen: _Seen) -> Layer | None:
    """The layer that was seen before this one, reads the same and says the same.

    All values of constants are looked at only where the first ones are the same.
    """
    if not isinstance(op, MemoryDataOp):
        return _first(op, _saying, seen) if op.operands else None
    alike = _first(op, _beginning, seen)
    if alike is None:
        return None
    _first(alike, _whole, seen)
    return _first(op, _whole, seen)


def _first(op: L, saying: Callable[[L], Hashable], seen: _Seen) -> L | None:
    """The layer in front of this one that was seen first with its saying, and still says so."""
    said = saying(op)
    other = seen.get(said)
    if (
        isinstance(other, type(op))
        and other is not op
        and other.is_before_in_block(op)
        and saying(other) == said
    ):
        return other
    seen[said] = op
    return None


def _saying(op: Layer) -> Hashable:
    """What must be equal of two layers that compute the same."""
    declared = op.LAYER
    return (
        type(op),
        tuple(getattr(op, name) for name in declared.params),
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
