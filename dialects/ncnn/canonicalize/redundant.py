"""Layers that nobody reads, and layers that compute what another one has computed."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, canonical
from ncc.dialects.ncnn.layer import LAYERS, Layer
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp

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


@canonical(*COMPUTING, MemoryDataOp)
class EliminateCommonLayer(LayerPattern):
    """f(x) = y, f(x) = z: z = y. Constants are common where their values are equal bit by bit."""

    name = "eliminate_common_layer"

    def look(self, op: Layer) -> Match | None:
        twin = _twin_constant(op) if isinstance(op, MemoryDataOp) else _twin(op)
        return None if twin is None else (twin, op)

    def legal(self, twin: Layer, op: Layer) -> str | None:
        return None

    def become(self, rewriter: PatternRewriter, twin: Layer, op: Layer) -> None:
        rewriter.replace(op, [], list(twin.results))


def _twin(op: Layer) -> Layer | None:
    """The layer before this one that reads the same and says the same."""
    for use in op.operands[0].uses if op.operands else ():
        other = use.operation
        if (
            other is not op
            and type(other) is type(op)
            and isinstance(other, Layer)
            and tuple(other.operands) == tuple(op.operands)
            and other.result_types == op.result_types
            and _says_the_same(other, op)
            and other.is_before_in_block(op)
        ):
            return other
    return None


def _says_the_same(a: Layer, b: Layer) -> bool:
    """Whether params and weights are equal, given or by default."""
    declared = a.LAYER
    return all(getattr(a, name) == getattr(b, name) for name in declared.params) and all(
        a.properties.get(name) == b.properties.get(name) for name in declared.weights
    )


def _twin_constant(op: MemoryDataOp) -> MemoryDataOp | None:
    """The constant before this one that has the same shape and the same bits."""
    block = op.parent
    other = None if block is None else op.prev_op
    while other is not None:
        if isinstance(other, MemoryDataOp) and other.shape == op.shape and _equal(other, op):
            return other
        other = other.prev_op
    return None


def _equal(a: MemoryDataOp, b: MemoryDataOp) -> bool:
    return a.values == b.values or a.values.array().tobytes() == b.values.array().tobytes()
