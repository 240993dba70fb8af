"""Rewrite a network by the truths of its layers, until none applies.

    %d = ncnn.Dropout(%x) {scale = 1.0}
    %p = ncnn.Pooling(%d) {global_pooling = 1}
    %f = ncnn.Flatten(%p)                            %p = ncnn.Pooling(%x) {global_pooling = 1}
    func.return %f                           ->      func.return %p

The patterns stand in `dialects/ncnn/canonicalize`; here they are driven, recorded and explained.
Inputs and outputs of the network keep their names: an input is never replaced, and the names of
outputs are those of the function. Every pattern leaves fewer layers or fewer reductions, so the
rewriting ends.

Needs: shapes, where a pattern asks for them; without them it does not fire.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ncc.compiler.ncnn.rewrite import Rewrite, drive, reasons, refuse_illegal
from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern
from ncc.dialects.ncnn.layer import PATTERNS, Layer
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError

Record = Callable[[Rewrite], None]


@dataclass(frozen=True)
class CanonicalizeNcnn(ModulePass):
    """`canonicalize-ncnn`; every rewrite is told to `record`."""

    name = "canonicalize-ncnn"

    record: Record | None = field(default=None, compare=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for rewrite in canonicalize(op):
            if self.record is not None:
                self.record(rewrite)


def canonicalize(module: ModuleOp, *, exact: bool = False) -> list[Rewrite]:
    """Rewrite a network to the fixpoint of all patterns; every rewrite in order.

    exact: only by patterns that change no bit of a result.
    """

    def patterns(layer: Layer) -> list[LayerPattern]:
        return [pattern for pattern in truths(layer) if pattern.exact or not exact]

    return drive(Network.of(module), patterns, refuse_illegal)


def truths(layer: Layer) -> list[LayerPattern]:
    """The patterns that a layer canonicalizes by."""
    patterns = layer.get_canonicalization_patterns()
    return [pattern for pattern in patterns if isinstance(pattern, LayerPattern)]


def pattern_names() -> list[str]:
    """The names of all patterns."""
    patterns = [pattern for of_type in PATTERNS.values() for pattern in of_type]
    return sorted({p.name for p in patterns if isinstance(p, LayerPattern)})


def explain(module: ModuleOp, pattern: str) -> list[tuple[str, str]]:
    """Where a pattern finds its left side and still must not fire: layer and reason.

    Raises `InputError` for a name that is no pattern.
    """
    if pattern not in pattern_names():
        raise InputError.unknown_name("pattern", pattern, pattern_names())
    return reasons(Network.of(module), truths, refuse_illegal, pattern)
