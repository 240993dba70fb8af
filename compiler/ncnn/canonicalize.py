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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.layer import PATTERNS, Layer
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError


@dataclass(frozen=True)
class Rewrite:
    """One firing of a pattern: its name, and the layers it took with their lines in the file."""

    pattern: str
    layers: tuple[str, ...]
    lines: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.pattern} {' '.join(layer or '(unnamed)' for layer in self.layers)}"


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
    network = Network.of(module)
    rewrites: list[Rewrite] = []
    before = -1
    while before != len(rewrites):
        before = len(rewrites)
        for layer in network.layers:
            rewrite = _rewrite(layer, exact) if layer.parent is not None else None
            if rewrite is not None:
                rewrites.append(rewrite)
    network.function.update_function_type()
    return rewrites


def _rewrite(layer: Layer, exact: bool) -> Rewrite | None:
    """Let the first pattern that holds for a layer fire."""
    for pattern, layers in _candidates(layer):
        if exact and not pattern.exact:
            continue
        if pattern.legal(*layers) is None:
            rewrite = Rewrite(
                pattern.name,
                tuple(op.layer_name for op in layers),
                tuple(op.line for op in layers),
            )
            pattern.become(PatternRewriter(layer), *layers)
            return rewrite
    return None


def _candidates(layer: Layer) -> Iterator[tuple[LayerPattern, Match]]:
    for pattern in layer.get_canonicalization_patterns():
        if isinstance(pattern, LayerPattern) and (layers := pattern.look(layer)) is not None:
            yield pattern, layers


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
    return [
        (layer.layer_name, reason)
        for layer in Network.of(module).layers
        for candidate, layers in _candidates(layer)
        if candidate.name == pattern and (reason := candidate.legal(*layers)) is not None
    ]
