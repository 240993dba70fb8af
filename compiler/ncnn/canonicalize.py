"""Rewrites a network by the canonicalizations of its layers, until none applies.

    %d = ncnn.Dropout(%x) {scale = 1.0}
    %p = ncnn.Pooling(%d) {global_pooling = 1}
    %f = ncnn.Flatten(%p)                            %p = ncnn.Pooling(%x) {global_pooling = 1}
    func.return %f                           ->      func.return %p

The patterns stand in `dialects/ncnn/canonicalize`; here they are driven and recorded.
Inputs and outputs of the network keep their names: an input is never replaced, and the names of
outputs are those of the function. Every pattern leaves fewer layers or fewer reductions, so the
rewriting ends.

Needs: shapes, where a pattern asks for them; without them it does not apply.  Breaks: nothing.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ncc.compiler.ncnn.rewrite import Rewrite, drive, refuse_illegal
from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern
from ncc.dialects.ncnn.layer import PATTERNS, Layer
from ncc.dialects.ncnn.network import Network


class CanonicalizeNcnn(ModulePass):
    """`canonicalize-ncnn`"""

    name = "canonicalize-ncnn"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        canonicalize(op)


def canonicalize(module: ModuleOp, *, exact: bool = False) -> list[Rewrite]:
    """Rewrite a network to the fixpoint of all patterns; every rewrite in order.

    exact: only by patterns that change no bit of a result.
    """

    def patterns(layer: Layer) -> list[LayerPattern]:
        return [pattern for pattern in canonicalizations(layer) if pattern.exact or not exact]

    return drive(Network.of(module), patterns, refuse_illegal)


def canonicalizations(layer: Layer) -> list[LayerPattern]:
    """The patterns that a layer canonicalizes by."""
    patterns = layer.get_canonicalization_patterns()
    return [pattern for pattern in patterns if isinstance(pattern, LayerPattern)]


def canonicalization_names() -> list[str]:
    """The names of all patterns."""
    patterns = [pattern for of_type in PATTERNS.values() for pattern in of_type]
    return sorted({p.name for p in patterns if isinstance(p, LayerPattern)})
