"""Explains the rewrites of a layer or a blob, and why a pass did not apply.

    blob 'bn1' was made by layer 'bn1' (BatchNorm) on line 5
      fuse_convolution_batchnorm conv1 bn1 (lines 4, 5): layer 'conv1' stands for it
      fuse_convolution_activation conv1 relu1 (lines 4, 6): layer 'conv1' stands for it
    no blob has its name any more: layer 'conv1' makes 'relu1'

Everything is read from the record of the rewrites and from the network before and after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ncc.compiler.ncnn.optimizations.optimization import OPTIMIZATIONS
from ncc.compiler.ncnn.optimize import explain, pattern_names
from ncc.compiler.ncnn.rewrite import Rewrite
from ncc.compiler.optimizer import Optimized, Refusal
from ncc.compiler.write.wiring import wire
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern
from ncc.dialects.ncnn.layer import PATTERNS, Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import SplitOp
from ncc.runtime.errors import InputError


def passes() -> dict[str, str]:
    """Every pass with its docstring."""
    canonical = (pattern for of_type in PATTERNS.values() for pattern in of_type)
    patterns = (*canonical, *(pattern for _, pattern in OPTIMIZATIONS))
    documented = {p.name: p.__doc__ or "" for p in patterns if isinstance(p, LayerPattern)}
    return {name: documented[name] for name in pattern_names()}


@dataclass(frozen=True)
class LayerFate:
    """The rewrites of a layer of the file.

    line: 0 where the file has none. survivor: the layer that stands for it now, be it itself; None
    where nothing does. rewrites: those that took it, or what stood for it then, in order.
    """

    type: str
    name: str
    line: int
    survivor: str | None
    rewrites: tuple[Rewrite, ...]

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        head = f"{where}{self.type} {self.name}"
        if not self.rewrites:
            return f"{head}: as it was"
        fate = "gone" if self.survivor is None else f"in {self.survivor}"
        return f"{head}: {fate}, by {', '.join(rewrite.pattern for rewrite in self.rewrites)}"


@dataclass(frozen=True)
class BlobFate:
    """The way of a blob through the rewrites.

    maker: the layer that made it. now: the layer that makes it, or what stands for it; None where
    nothing of it is left. outputs: the blobs that this layer makes.
    """

    blob: str
    maker: LayerFate
    now: str | None
    outputs: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """The way, a line each."""
        maker = self.maker
        where = f" on line {maker.line}" if maker.line else ""
        yield f"blob {self.blob!r} was made by layer {maker.name!r} ({maker.type}){where}"
        yield from (f"  {_told(rewrite)}" for rewrite in maker.rewrites)
        if self.now is None:
            yield "nothing of it is left: no output needs it"
        elif self.blob in self.outputs:
            yield f"it is still there: layer {self.now!r} makes it"
        else:
            made = " and ".join(map(repr, self.outputs))
            yield f"no blob has its name any more: layer {self.now!r} makes {made}"


@dataclass(frozen=True)
class Hindrance:
    """A layer at which a pattern is found, and why it must not fire there."""

    layer: str
    line: int
    reason: str

    def __str__(self) -> str:
        where = f" on line {self.line}" if self.line else ""
        return f"not at layer {self.layer!r}{where}: {self.reason}"


@dataclass(frozen=True)
class PassFate:
    """Where a pass fired, where that was found to change results, and where it must not fire."""

    name: str
    fired: tuple[Rewrite, ...]
    refused: tuple[Refusal, ...]
    hindered: tuple[Hindrance, ...]

    def lines(self) -> Iterator[str]:
        """A line each."""
        yield from (f"fired: {_told(rewrite)}" for rewrite in self.fired)
        yield from (f"changes results: {refusal}" for refusal in self.refused)
        yield from map(str, self.hindered)
        if not self.fired and not self.hindered:
            yield f"{self.name}: no layers of this network look like it"


def fate_of_blob(done: Optimized, blob: str) -> BlobFate:
    """Raises `InputError` for a name that no blob of the file has."""
    makers = {name: op for op in Network.of(done.original).layers for name in op.blob_names}
    if blob not in makers:
        raise InputError.unknown_name("blob", blob, makers)
    lines = wire(Network.of(done.module))
    maker = _fate(done, makers[blob], {line.name for line in lines})
    now = next((line for line in lines if blob in line.outputs), None)
    if now is not None:
        return BlobFate(blob, maker, now.name, tuple(now.outputs))
    made = tuple(name for line in lines if line.name == maker.survivor for name in line.outputs)
    return BlobFate(blob, maker, maker.survivor if made else None, made)


def fates(done: Optimized) -> Iterator[LayerFate]:
    """Every layer of the file. Splits are none: they stand wherever a blob is read twice."""
    left = {line.name for line in wire(Network.of(done.module))}
    for op in Network.of(done.original).layers:
        if not isinstance(op, SplitOp):
            yield _fate(done, op, left)


def why_not(done: Optimized, pattern: str) -> PassFate:
    """Raises `InputError` for a name that is no pass."""
    lines = {op.layer_name: op.line for op in Network.of(done.module).layers}
    return PassFate(
        pattern,
        tuple(rewrite for rewrite in done.rewrites if rewrite.pattern == pattern),
        tuple(refusal for refusal in done.refusals if refusal.pattern == pattern),
        tuple(
            Hindrance(layer, lines.get(layer, 0), reason)
            for layer, reason in explain(done.module, pattern)
        ),
    )


def _fate(done: Optimized, op: Layer, left: Collection[str]) -> LayerFate:
    """The fate of a layer; left: the names of the layers that exist now."""
    way = _way(done.rewrites, op.layer_name)
    survivor = way[-1].survivor if way else op.layer_name
    return LayerFate(
        op.type_name, op.layer_name, op.line, survivor if survivor in left else None, tuple(way)
    )


def _way(rewrites: Sequence[Rewrite], layer: str) -> list[Rewrite]:
    """The rewrites that took a layer, or a layer that replaced it."""
    way: list[Rewrite] = []
    for rewrite in rewrites:
        if (way[-1].survivor if way else layer) in rewrite.layers:
            way.append(rewrite)
    return way


def _told(rewrite: Rewrite) -> str:
    lines = ", ".join(str(line) for line in rewrite.lines if line)
    where = f" (line{'s' if ',' in lines else ''} {lines})" if lines else ""
    stands = (
        f": layer {rewrite.survivor!r} stands for it" if rewrite.survivor else ": nothing is left"
    )
    return f"{rewrite}{where}{stands}"
