"""What became of a layer or a blob when its network was optimized, and why a pass did not fire.

    blob 'bn1' was made by layer 'bn1' (BatchNorm) on line 5
      fuse_convolution_batchnorm conv1 bn1 (lines 4, 5): layer 'conv1' stands for it
      fuse_convolution_activation conv1 relu1 (lines 4, 6): layer 'conv1' stands for it
    its value is computed by no layer of its own any more

Everything is read from the record of the rewrites and from the network before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ncc.compiler.ncnn.choices.choice import CHOICES
from ncc.compiler.ncnn.optimize import explain, pattern_names
from ncc.compiler.ncnn.rewrite import Rewrite
from ncc.compiler.optimizer import Optimized
from ncc.compiler.write.wiring import Line, wire
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern
from ncc.dialects.ncnn.layer import PATTERNS, Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import SplitOp
from ncc.runtime.errors import InputError


def passes() -> dict[str, str]:
    """Every pass with the first line of what it says of itself."""
    truths = (pattern for of_type in PATTERNS.values() for pattern in of_type)
    choices = (pattern for _, pattern in CHOICES)
    said = {p.name: p.__doc__ or "" for p in (*truths, *choices) if isinstance(p, LayerPattern)}
    return {name: said.get(name, "").strip().partition("\n")[0] for name in pattern_names()}


def fate_of_blob(done: Optimized, blob: str) -> Iterator[str]:
    """The way of a blob through the rewrites, a line each.

    Raises `InputError` for a name that no blob of the file has.
    """
    makers = {name: op for op in Network.of(done.original).layers for name in op.blob_names}
    if blob not in makers:
        raise InputError.unknown_name("blob", blob, makers)
    maker = makers[blob]
    yield f"blob {blob!r} was made by {_described(maker)}"
    way = _way(done.rewrites, maker.layer_name)
    yield from (f"  {_told(rewrite)}" for rewrite in way)
    survivor = way[-1].survivor if way else maker.layer_name
    lines = wire(Network.of(done.module))
    now = next((line for line in lines if blob in line.outputs), None)
    if now is not None:
        yield f"it is still there: layer {now.name!r} makes it"
    elif survivor and (into := _outputs_of(lines, survivor)):
        yield f"no blob has its name any more: layer {survivor!r} makes {' and '.join(into)}"
    else:
        yield "nothing of it is left: no output needs it"


def fates(done: Optimized) -> Iterator[str]:
    """Every layer of the file in a line: what stands for it now, and by which rewrites.

    Splits are no lines: they stand wherever a blob is read twice.
    """
    left = {line.name for line in wire(Network.of(done.module))}
    for op in Network.of(done.original).layers:
        if isinstance(op, SplitOp):
            continue
        way = _way(done.rewrites, op.layer_name)
        where = f"line {op.line}: " if op.line else ""
        head = f"{where}{op.type_name} {op.layer_name}"
        if not way:
            yield f"{head}: as it was"
        else:
            fate = f"in {way[-1].survivor}" if way[-1].survivor in left else "gone"
            yield f"{head}: {fate}, by {', '.join(rewrite.pattern for rewrite in way)}"


def why_not(done: Optimized, pattern: str) -> Iterator[str]:
    """Where a pass fired; where its pattern is still found, and why it must not fire there.

    Raises `InputError` for a name that is no pass.
    """
    refused = explain(done.module, pattern)
    fired = [rewrite for rewrite in done.rewrites if rewrite.pattern == pattern]
    lines = {op.layer_name: op.line for op in Network.of(done.module).layers}
    for rewrite in fired:
        yield f"fired: {_told(rewrite)}"
    for refusal in done.refusals:
        if refusal.pattern == pattern:
            yield f"changes results: {refusal}"
    for layer, reason in refused:
        where = f" on line {lines[layer]}" if lines.get(layer) else ""
        yield f"not at layer {layer!r}{where}: {reason}"
    if not fired and not refused:
        yield f"{pattern}: no layers of this network look like it"


def _way(rewrites: Sequence[Rewrite], layer: str) -> list[Rewrite]:
    """The rewrites that took a layer, or what stood for it then."""
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


def _described(op: Layer) -> str:
    where = f" on line {op.line}" if op.line else ""
    return f"layer {op.layer_name!r} ({op.type_name}){where}"


def _outputs_of(lines: Sequence[Line], name: str) -> list[str]:
    return [repr(blob) for line in lines if line.name == name for blob in line.outputs]
