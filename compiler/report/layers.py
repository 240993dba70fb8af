"""The layers of a network before and after optimization, for a report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.explain import LayerFate, fates
from ncc.compiler.ncnn.multiply_adds import multiply_adds_of
from ncc.compiler.ncnn.optimize import explain_all
from ncc.compiler.optimizer import Optimized
from ncc.compiler.report.facts import Blob, Layer, Reason, Step
from ncc.compiler.summary import Blob as ShownBlob
from ncc.compiler.summary import weights_of
from ncc.dialects.ncnn.layer import Layer as LayerOp
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import SplitOp
from ncc.dialects.onnx.operator import ConstantOp

Layers: TypeAlias = tuple[Layer, ...]


def blob_of(name: str, value: SSAValue) -> Blob:
    """A value of the IR."""
    shown = ShownBlob.of(name, value)
    return Blob(shown.name, shown.type, shown.extents)


def layers_of(module: ModuleOp, lines: Sequence[str] = ()) -> Layers:
    """The layers of a network. Splits and constants are none. lines: those of the file."""
    ops = _ops(module)
    place = {op: number for number, op in enumerate(ops)}
    return tuple(_layer(op, place, lines) for op in ops)


def before_and_after(done: Optimized, param: str | os.PathLike[str]) -> tuple[Layers, Layers]:
    """The layers of the file, and those of the optimized network."""
    file = layers_of(done.original, _lines(param, done.original))
    now = layers_of(done.module)
    place = {layer.name: number for number, layer in enumerate(now)}
    file = tuple(_with_fate(*pair, place) for pair in zip(file, fates(done), strict=True))
    sources: dict[int, list[int]] = {}
    for number, layer in enumerate(file):
        if layer.became is not None:
            sources.setdefault(layer.became, []).append(number)
    hindered = _hindered(done, place)
    now = tuple(
        replace(
            layer,
            made_of=tuple(sources.get(number, ())),
            rewrites=_rewrites(file[source] for source in sources.get(number, ())),
            hindered=tuple(hindered.get(number, ())),
        )
        for number, layer in enumerate(now)
    )
    return file, now


def with_steps(
    layers: Layers, steps: Sequence[Step], decided: Mapping[str, Sequence[Reason]]
) -> Layers:
    """The layers with the steps that compute them. decided: by the names of layers, as operations
    of linalg name them.
    """
    by_name: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        for name in dict.fromkeys(step.layers):
            by_name.setdefault(name, []).append(number)
    return tuple(
        replace(
            layer,
            steps=tuple(by_name.get(layer.name, ())),
            decided=tuple(decided.get(layer.name, ())),
        )
        for layer in layers
    )


def _ops(module: ModuleOp) -> list[LayerOp]:
    hidden = (SplitOp, ConstantOp)
    return [op for op in Network.of(module).layers if not isinstance(op, hidden)]


def _layer(op: LayerOp, place: Mapping[LayerOp, int], lines: Sequence[str]) -> Layer:
    makers = dict.fromkeys(filter(None, map(_maker, op.operands)))
    return Layer(
        op.type_name,
        op.layer_name,
        op.line,
        lines[op.line - 1].strip() if 0 < op.line <= len(lines) else "",
        tuple(map(blob_of, op.blob_names, op.results)),
        tuple(place[maker] for maker in makers if maker in place),
        weights_of(op),
        multiply_adds_of(op),
    )


def _maker(value: SSAValue) -> LayerOp | None:
    """The layer that makes a value, behind Splits."""
    owner = value.owner
    while isinstance(owner, SplitOp):
        owner = owner.operands[0].owner
    return owner if isinstance(owner, LayerOp) else None


def _lines(param: str | os.PathLike[str], module: ModuleOp) -> list[str]:
    """The lines of the file; none if its layers were not read from text."""
    if not any(op.line for op in _ops(module)):
        return []
    return Path(param).read_text(errors="replace").splitlines()


def _with_fate(layer: Layer, fate: LayerFate, place: Mapping[str, int]) -> Layer:
    became = None if fate.survivor is None else place.get(fate.survivor)
    return replace(layer, became=became, rewrites=tuple(map(str, fate.rewrites)))


def _rewrites(layers: Iterable[Layer]) -> tuple[str, ...]:
    """Those of several layers, each once."""
    return tuple(dict.fromkeys(text for layer in layers for text in layer.rewrites))


def _hindered(done: Optimized, place: Mapping[str, int]) -> dict[int, list[Reason]]:
    """Why passes must not change layers of the optimized network."""
    found: dict[int, list[Reason]] = {}
    for pattern, op, reason in explain_all(done.module):
        if op.layer_name in place:
            found.setdefault(place[op.layer_name], []).append(Reason(pattern, reason))
    for refusal in done.refusals:
        for name in refusal.layers:
            if name in place:
                found.setdefault(place[name], []).append(Reason(refusal.pattern, refusal.reason))
    return found
