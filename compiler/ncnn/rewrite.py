"""The driver of layer patterns: to a fixpoint, in file order, every rewrite recorded.

A sweep offers every layer to the patterns that may end in it; the first that is legal applies, and
what makes the result then is offered at once, so that a layer is done before its readers are looked
at. Sweeps go on until one changes nothing, so a second run changes nothing either. Every pattern
leaves a network that is smaller, or as large and closer to one form, so sweeps end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.canonicalize.twins import Twins
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.size import assume_all, assuming

PatternsOf: TypeAlias = Callable[[Layer], Iterable[LayerPattern]]
"""The patterns that may end in a layer."""

Refuse: TypeAlias = Callable[[LayerPattern, Match], str | None]
"""The reason why a pattern must not apply to these layers; None if it may."""


@dataclass(frozen=True)
class Rewrite:
    """One firing of a pattern: its name, the layers it took, their lines in the file.

    `survivor` is the layer that makes their result now; empty where nobody reads it.
    """

    pattern: str
    layers: tuple[str, ...]
    lines: tuple[int, ...]
    survivor: str = ""

    def __str__(self) -> str:
        return f"{self.pattern} {' '.join(layer or '(unnamed)' for layer in self.layers)}"


def refuse_illegal(pattern: LayerPattern, layers: Match) -> str | None:
    """The pattern's own reason; no pattern reasons about rows that only the run counts."""
    for layer in layers:
        shapes = [shape_of(value) or () for value in layer.operands]
        if not layer.READS_COUNTED and any(DYNAMIC_INDEX in shape for shape in shapes):
            return f"only the run knows how many rows {layer.layer_name} reads"
    return pattern.check(*layers)


def drive(network: Network, patterns: PatternsOf, refuse: Refuse) -> list[Rewrite]:
    """Rewrite a network until no pattern may apply; every rewrite in order."""
    rewrites: list[Rewrite] = []
    before = -1
    while before != len(rewrites):
        before = len(rewrites)
        rewrites += _sweep(network, patterns, refuse)
    network.function.update_function_type()
    return rewrites


def _sweep(network: Network, patterns: PatternsOf, refuse: Refuse) -> Iterator[Rewrite]:
    """Offer every layer, and after a rewrite the layer that makes the result."""
    twins = Twins()
    for layer in network.layers:
        current: Layer | None = layer
        while current is not None and current.parent is not None:
            rewrite, current = _rewrite(current, twins, patterns, refuse)
            if rewrite is not None:
                yield rewrite


def reasons(
    network: Network, patterns: PatternsOf, refuse: Refuse
) -> Iterator[tuple[str, Layer, str]]:
    """Where the left side of a pattern is found and it must not apply: its name, layer, why."""
    twins = Twins()
    for layer in network.layers:
        for pattern in patterns(layer):
            layers = pattern.match_in_order(layer, twins)
            reason = None if layers is None else refuse(pattern, layers)
            if reason is not None:
                yield pattern.name, layer, reason


def _rewrite(
    layer: Layer, twins: Twins, patterns: PatternsOf, refuse: Refuse
) -> tuple[Rewrite | None, Layer | None]:
    """Apply the first pattern that may; returns the rewrite, and the layer of the new result."""
    for pattern in patterns(layer):
        if (layers := _legal(pattern, layer, twins, refuse)) is not None:
            names = tuple(op.layer_name for op in layers)
            lines = tuple(op.line for op in layers)
            readers = [use for result in layer.results for use in result.uses]
            pattern.rewrite(PatternRewriter(layer), *layers)
            maker = _maker([use.operation.operands[use.index] for use in readers])
            survivor = "" if maker is None else maker.layer_name
            return Rewrite(pattern.name, names, lines, survivor), maker
    return None, None


def _legal(pattern: LayerPattern, layer: Layer, twins: Twins, refuse: Refuse) -> Match | None:
    """The layers that a pattern may rewrite.

    Layers that stay as they are take all sizes, so that only a pattern that applies assumes
    something about them.
    """
    with assuming(kept=False) as assumed:
        layers = pattern.match_in_order(layer, twins)
        if layers is None or refuse(pattern, layers) is not None:
            return None
    assume_all(assumed)
    return layers


def _maker(values: list[SSAValue]) -> Layer | None:
    owner = values[0].owner if values else None
    return owner if isinstance(owner, Layer) else None
