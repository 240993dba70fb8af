"""Layers without readers, and layers that compute the same as an earlier layer."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, canonical
from ncc.dialects.ncnn.canonicalize.twins import Twins
from ncc.dialects.ncnn.layer import LAYERS, Layer
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp

COMPUTING = [kind for kind in LAYERS.values() if kind not in (InputOp, MemoryDataOp)]


@canonical(*COMPUTING)
class EliminateDeadLayer(LayerPattern):
    """A layer of which no layer reads a result, and no result is an output, is nothing."""

    name = "eliminate_dead_layer"

    def match(self, op: Layer) -> Match | None:
        read = any(True for result in op.results for _ in result.uses)
        return None if read else (op,)

    def check(self, op: Layer) -> str | None:
        return None

    def rewrite(self, rewriter: PatternRewriter, op: Layer) -> None:
        rewriter.erase(op)


@canonical(MemoryDataOp)
class EliminateOrphanedMemoryData(LayerPattern):
    """A constant that no layer reads, and that is no output, is nothing."""

    name = "eliminate_orphaned_memorydata"

    def match(self, op: Layer) -> Match | None:
        return (op,)

    def check(self, op: MemoryDataOp) -> str | None:
        readers = [use.operation for use in op.results[0].uses]
        if not readers:
            return None
        names = [reader.layer_name for reader in readers if isinstance(reader, Layer)]
        return f"it is read by {', '.join(map(repr, names))}" if names else "it is an output"

    def rewrite(self, rewriter: PatternRewriter, op: MemoryDataOp) -> None:
        rewriter.erase(op)


@canonical(*COMPUTING, MemoryDataOp)
class EliminateCommonLayer(LayerPattern):
    """f(x) = y, f(x) = z: z = y. Constants of one type are common where all their bits are."""

    name = "eliminate_common_layer"

    def match(self, op: Layer) -> Match | None:
        return self.match_in_order(op, Twins.before(op))

    def match_in_order(self, op: Layer, twins: Twins) -> Match | None:
        twin = twins.twin_of(op)
        return None if twin is None else (twin, op)

    def check(self, twin: Layer, op: Layer) -> str | None:
        return None

    def rewrite(self, rewriter: PatternRewriter, twin: Layer, op: Layer) -> None:
        rewriter.replace(op, [], list(twin.results))
