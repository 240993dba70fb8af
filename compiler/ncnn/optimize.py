"""Applies canonicalizations and optimizations to a network, until none applies any more.

    %c = ncnn.Convolution(%x)
    %b = ncnn.BatchNorm(%c)
    %r = ncnn.ReLU(%b)                            %r = ncnn.Convolution(%x) {activation_type = 1}
    func.return %r                         ->     func.return %r

Canonicalizations are in `dialects/ncnn/canonicalize`, optimizations in `optimizations`. Results
stay the same except for rounding: folding rounds weights anew. A layer with a feature mask takes
part in canonicalizations only, because its mask may be wrong for the layer that replaces it.

Needs: shapes, where a pattern asks for them; without them it does not apply.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.ncnn.canonicalize import canonicalization_names, canonicalizations
from ncc.compiler.ncnn.optimizations import fold_affine as fold_affine
from ncc.compiler.ncnn.optimizations import fold_constants as fold_constants
from ncc.compiler.ncnn.optimizations import fold_padding as fold_padding
from ncc.compiler.ncnn.optimizations import fuse_activation as fuse_activation
from ncc.compiler.ncnn.optimizations import fuse_attention as fuse_attention
from ncc.compiler.ncnn.optimizations import fuse_binaryop as fuse_binaryop
from ncc.compiler.ncnn.optimizations import fuse_branches as fuse_branches
from ncc.compiler.ncnn.optimizations import fuse_elementwise as fuse_elementwise
from ncc.compiler.ncnn.optimizations import fuse_normalization as fuse_normalization
from ncc.compiler.ncnn.optimizations import replace_layers as replace_layers
from ncc.compiler.ncnn.optimizations import sink_reshape as sink_reshape
from ncc.compiler.ncnn.optimizations.optimization import OPTIMIZATIONS
from ncc.compiler.ncnn.rewrite import Refuse, Rewrite, drive, reasons, refuse_illegal
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, is_private
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import NoopOp
from ncc.runtime.errors import InputError, did_you_mean


@dataclass(frozen=True)
class OptimizeNcnn(ModulePass):
    """`optimize-ncnn{off=fuse_binaryop_eltwise keep=conv1}`"""

    name = "optimize-ncnn"

    off: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        optimize_module(op, off=self.off, keep=self.keep)


def optimize_module(
    module: ModuleOp,
    *,
    off: Collection[str] = (),
    keep: Collection[str] = (),
    check: Refuse | None = None,
) -> list[Rewrite]:
    """Rewrite a network to the fixpoint of all canonicalizations and optimizations; every rewrite
    in order.

    off: names of patterns that must not apply. keep: names of blobs that must survive with their
    values; one whose value is also the network's input, or an output of another name, becomes an
    output of the network. check: asked before each legal rewrite; a reason refuses it.

    Raises `InputError` for a name that is no pattern, or no blob.
    """
    for name in off:
        require_pattern(name)

    def patterns(layer: Layer) -> list[LayerPattern]:
        return [pattern for pattern in _patterns(layer) if pattern.name not in off]

    def refuse(pattern: LayerPattern, layers: Match) -> str | None:
        reason = _refuse(pattern, layers)
        return check(pattern, layers) if reason is None and check is not None else reason

    network = Network.of(module)
    network.return_only({**network.outputs, **_collected(network)})
    with _kept(network, keep):
        return drive(network, patterns, refuse)


def pattern_names() -> list[str]:
    """The names of all canonicalizations and optimizations."""
    return sorted({*canonicalization_names(), *(pattern.name for _, pattern in OPTIMIZATIONS)})


def require_pattern(pattern: str) -> None:
    """Raises `InputError` for a name that is no pattern; to a user patterns are passes."""
    known = pattern_names()
    if pattern not in known:
        raise InputError(
            f"there is no pass {pattern!r}: `ncc optimize --list-passes` shows all",
            suggestion=did_you_mean(pattern, known),
        )


def explain(module: ModuleOp, pattern: str) -> list[tuple[str, str]]:
    """Where a pattern finds its left side and still must not apply: layer and reason.

    Raises `InputError` for a name that is no pattern.
    """
    require_pattern(pattern)
    found = explain_all(module)
    return [(layer.layer_name, reason) for name, layer, reason in found if name == pattern]


def explain_all(module: ModuleOp) -> Iterator[tuple[str, Layer, str]]:
    """The same for all patterns: the name of the pattern, layer and reason."""
    return reasons(Network.of(module), _patterns, _refuse)


def _patterns(layer: Layer) -> list[LayerPattern]:
    return [*canonicalizations(layer), *optimizations_of(type(layer))]


@cache
def optimizations_of(kind: type[Layer]) -> tuple[LayerPattern, ...]:
    """The optimizations that are tried on layers of a class."""
    return tuple(pattern for root, pattern in OPTIMIZATIONS if issubclass(kind, root))


def _refuse(pattern: LayerPattern, layers: Match) -> str | None:
    if pattern in optimizations_of(type(layers[-1])):
        for layer in layers:
            if layer.feature_mask:
                return f"{layer.layer_name} has the feature mask {layer.feature_mask}"
    return refuse_illegal(pattern, layers)


def _collected(network: Network) -> dict[str, SSAValue]:
    """The blobs that nobody reads but a Noop that does not hand them on."""
    blobs = {value: name for name, value in _blobs(network).items() if name}
    return {
        blobs[operand]: operand
        for layer in network.layers
        if isinstance(layer, NoopOp)
        for operand in layer.operands[len(layer.results) :]
        if operand in blobs and is_private(operand)
    }


# --- blobs that must survive ----------------------------------------------------------------


@contextmanager
def _kept(network: Network, keep: Collection[str]) -> Iterator[None]:
    """Let named blobs be outputs of the network while it is rewritten.

    An output is read from outside, so no fold swallows it. Afterwards its layer has the blob's name
    again, and what was no output is none, unless a layer has no room for the name.
    """
    blobs = _blobs(network)
    for name in keep:
        if name not in blobs:
            raise InputError.unknown_name("blob", name, blobs)
    outputs = dict(network.outputs)
    added = [name for name in dict.fromkeys(keep) if name not in (*outputs, *network.inputs)]
    network.return_only({**outputs, **{name: blobs[name] for name in added}})
    yield
    values = dict(network.outputs)
    taken = {values[name] for name in outputs} | set(network.inputs.values())
    for name in added:
        if values[name] not in taken:
            taken.add(values[name])
            _rename(values.pop(name), name)
    network.return_only(values)


def _blobs(network: Network) -> dict[str, SSAValue]:
    named = {
        blob: result
        for layer in network.layers
        for blob, result in zip(layer.blob_names, layer.results, strict=True)
    }
    return {**named, **network.outputs}


def _rename(value: SSAValue, name: str) -> None:
    layer = value.owner
    if isinstance(layer, Layer):
        names = [
            name if result is value else blob
            for blob, result in zip(layer.blob_names, layer.results, strict=True)
        ]
        layer.attributes["blobs"] = ArrayAttr([StringAttr(blob) for blob in names])
