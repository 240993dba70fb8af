"""Layers that nobody reads, and layers that compute what another one has computed."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, canonical
from ncc.dialects.ncnn.layer import LAYERS, Layer
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp
from ncc.dialects.sources import Weights

FIRST_VALUES = 16
"""How many values of a constant are looked at before all of them: most constants differ there."""

COMPUTING = [kind for kind in LAYERS.values() if kind not in (InputOp, MemoryDataOp)]


@canonical(*COMPUTING)
class EliminateDeadLayer(LayerPattern):
    """A layer of which no layer reads a result, and no result is an output, is nothing."""

    name = "eliminate_dead_layer"

    def look(self, op: Layer) -> Match | None:
        read = any(True for result in op.results for _ in result.uses)
        return None if read else (op,)

    def legal(self, op: Layer) -> str | None:
        return None

    def become(self, rewriter: PatternRewriter, op: Layer) -> None:
        rewriter.erase(op)


@canonical(MemoryDataOp)
class EliminateOrphanedMemoryData(LayerPattern):
    """A constant that no layer reads, and that is no output, is nothing."""

    name = "eliminate_orphaned_memorydata"

    def look(self, op: Layer) -> Match | None:
        return (op,)

    def legal(self, op: MemoryDataOp) -> str | None:
        readers = [use.operation for use in op.results[0].uses]
        if not readers:
            return None
        names = [reader.layer_name for reader in readers if isinstance(reader, Layer)]
        return f"it is read by {', '.join(map(repr, names))}" if names else "it is an output"

    def become(self, rewriter: PatternRewriter, op: MemoryDataOp) -> None:
        rewriter.erase(op)


@canonical(*COMPUTING, MemoryDataOp)
class EliminateCommonLayer(LayerPattern):
    """f(x) = y, f(x) = z: z = y. Constants of one type are common where all their bits are."""

    name = "eliminate_common_layer"

    def look(self, op: Layer) -> Match | None:
        twin = _twin_constant(op) if isinstance(op, MemoryDataOp) else _twin(op)
        return None if twin is None else (twin, op)

    def legal(self, twin: Layer, op: Layer) -> str | None:
        return None

    def become(self, rewriter: PatternRewriter, twin: Layer, op: Layer) -> None:
        rewriter.replace(op, [], list(twin.results))


def _twin(op: Layer) -> Layer | None:
    """The layer before this one that reads the same and says the same.

    Many layers may read one value: the first of them is tried first, by what tells most apart.
    """
    if not op.operands:
        return None
    declared = op.LAYER
    params = [(name, getattr(op, name)) for name in declared.params]
    weights = [(name, op.properties.get(name)) for name in declared.weights]
    for use in reversed([*op.operands[0].uses]):
        other = use.operation
        if (
            other is not op
            and type(other) is type(op)
            and all(getattr(other, name) == value for name, value in params)
            and all(other.properties.get(name) == value for name, value in weights)
            and tuple(other.operands) == tuple(op.operands)
            and other.result_types == op.result_types
            and other.is_before_in_block(op)
        ):
            return other
    return None


def _twin_constant(op: MemoryDataOp) -> MemoryDataOp | None:
    """The constant before this one that has the same shape and the same bits, of the same type."""
    values = op.values.data
    beginning = _bits(values, FIRST_VALUES)
    alike = [
        other
        for other in _constants_before(op)
        if other.shape == op.shape
        and other.values.data.dtype == values.dtype
        and _bits(other.values.data, FIRST_VALUES) == beginning
    ]
    if not alike:
        return None
    bits = _bits(values)
    return next((other for other in alike if _bits(other.values.data) == bits), None)


def _constants_before(op: MemoryDataOp) -> Iterator[MemoryDataOp]:
    """Those in front of a constant in its block, the nearest one first."""
    other = op.prev_op
    while other is not None:
        if isinstance(other, MemoryDataOp):
            yield other
        other = other.prev_op


def _bits(values: Weights, most: int | None = None) -> bytes:
    """The bits of all values, or of the first ones."""
    count = prod(values.shape)
    return values.source.read(count if most is None else min(most, count)).tobytes()
