"""Try a rewrite on a copy of its layers before it may happen: `--verify-rewrites`.

    %c = ncnn.Convolution(%x)            old(x), new(x) for random x, and for x with zeros of both
    %y = ncnn.BatchNorm(%c)     tried:   signs, denormals, large values, infinities and NaN; where a
                                         difference exceeds the bound of the pattern: refused

The trial is a network of its own: the layers that take part, the constants that they read, an Input
for every other operand, and an output for every value that layers outside read. Both sides run by
the references. Since nothing but the copy was touched, a refused rewrite leaves no trace.

A pattern says what it promises: `exact`, or else its `bound`; `differs_on`. Where shapes are not
known, the trial is made for some of each rank that the old side accepts. Values on which the old
side fails (an index out of range) are left out. Of large pictures a corner is tried, and the whole
on random values, unless that takes too long; what differs on the corner must differ on the whole.

    reason = refuse_changed_results(pattern, layers)       # for users: one more `legal`
    require_equal_results(pattern, layers)                 # for tests: raises `CompilerBug`
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.input_types import input_types
from ncc.compiler.ncnn.multiply_adds import multiply_adds
from ncc.compiler.ncnn.trial_inputs import FAILURES, Feeds, cropped, trial_feeds, trial_shapes
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.layer import Array, Layer, Shape, WeightAttr, blob_type, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp
from ncc.dialects.shapes import shown
from ncc.dialects.weights.sources import Random

Values: TypeAlias = Mapping[str, Array]

NORMAL = float(np.finfo(np.float32).tiny)
MOST_WORK = 300_000_000
"""Multiply-adds of a trial that is made on whole pictures."""

OPEN_EXTENT = 5
"""The trial's value for an extent that only the run knows."""


def refuse_changed_results(pattern: LayerPattern, layers: Match) -> str | None:
    """Why a legal rewrite must not happen, found by trying it: None where both sides are equal."""
    trial = _Trial.of(layers)
    if not trial.outputs:
        return None
    runs = [run for shapes in trial_shapes(trial.module) for run in _runs(trial, pattern, shapes)]
    if not runs:
        return "it cannot be tried: the references of its layers do not run"
    before = _result_shapes(trial)
    try:
        pattern.rewrite(PatternRewriter(trial.layers[-1]), *trial.layers)
        trial.module.verify()
        if None not in before:
            infer_shapes(trial.module)
    except FAILURES as error:
        return f"it fails: {error}"
    if None not in before and _result_shapes(trial) != before:
        return f"it gives shapes {_result_shapes(trial)}, not {before}"
    for run in runs:
        reason = run.refuse(trial, pattern)
        if reason is not None and run.whole is not None:
            # The new side may be right for the whole shape alone.
            again = _on_whole(layers, run, pattern)
            reason = None if again is None else again.refuse(trial, pattern)
        if reason is not None:
            return reason
    return None


def _result_shapes(trial: _Trial) -> list[Shape | None]:
    return [shape_of(value) for value in Network.of(trial.module).outputs.values()]


def require_equal_results(pattern: LayerPattern, layers: Match) -> None:
    """Raise `CompilerBug` where `refuse_changed_results` has a reason; it holds the layers."""
    reason = refuse_changed_results(pattern, layers)
    if reason is not None:
        text = str(_Trial.of(layers).module)
        raise CompilerBug(f"{pattern.name} changes results: {reason}", "optimize", text)


@dataclass(frozen=True)
class _Trial:
    """The copy of some layers as a network. outputs: its names for the values read outside."""

    module: ModuleOp
    layers: Match
    outputs: tuple[str, ...]

    @staticmethod
    def of(layers: Match) -> _Trial:
        block = layers[-1].parent
        if block is None:
            raise CompilerBug("a rewrite of a layer that is in no network", "optimize")
        involved = set(layers).union(*map(_constants, layers))
        read = {operand for op in involved for operand in op.operands}
        copies: dict[Operation, Operation] = {}
        values: dict[SSAValue, SSAValue] = {}
        body: list[Operation] = []
        for op in block.ops:
            if op in involved:
                copies[op] = op.clone(values)
                _hold_weights(copies[op])
                body.append(copies[op])
                continue
            for result in op.results:
                if result in read:
                    body.append(_input(f"operand {len(values)}", result))
                    values[result] = body[-1].results[0]
        returned = [
            values[result]
            for op in copies
            for result in op.results
            if any(use.operation not in involved for use in result.uses)
        ]
        names = tuple(f"result {k}" for k in range(len(returned)))
        module = _network([*body, ReturnOp(*returned)], names)
        return _Trial(module, tuple(_layer(copies[op]) for op in layers), names)


def _layer(op: Operation) -> Layer:
    if not isinstance(op, Layer):
        raise CompilerBug(f"the copy of a layer is {op.name}", "optimize")
    return op


def _hold_weights(op: Operation) -> None:
    """Put weights that are made up into the copy: they would be made anew for every run."""
    for name, held in op.properties.items():
        if isinstance(held, WeightAttr) and isinstance(held.data.source, Random):
            op.properties[name] = WeightAttr.of(held.array())


def _constants(op: Operation) -> set[Operation]:
    """The layers that make those operands that no input of the network has a part in."""
    makers = {owner for o in op.operands if isinstance(owner := o.owner, Layer)}
    constant = {maker for maker in makers if _is_constant(maker)}
    return constant.union(*map(_constants, constant))


def _is_constant(op: Operation) -> bool:
    if isinstance(op, MemoryDataOp):
        return True
    owners = [operand.owner for operand in op.operands]
    return bool(owners) and all(isinstance(o, Layer) and _is_constant(o) for o in owners)


def _input(name: str, value: SSAValue) -> InputOp:
    shape = shape_of(value)
    if shape is not None:
        shape = tuple(map(_settled, shape))
    op = InputOp.make([], {}, name=name, blobs=[name])
    if shape is not None:
        kind = blob_type(element_of(value), shape)
        Rewriter.replace_value_with_new_type(op.results[0], kind)
    return op


def _settled(extent: int) -> int:
    """An extent of the trial for one that only the run knows."""
    return OPEN_EXTENT if extent == DYNAMIC_INDEX else extent


def _network(body: Sequence[Operation], names: Sequence[str]) -> ModuleOp:
    types = [operand.type for operand in body[-1].operands]
    function = FuncOp("network", ((), types), Region(Block(body)))
    function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in names])
    return ModuleOp([function])


# --- one run of both sides ------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """What the old side makes of some values. whole: the shapes that those of `feeds` are cut from,
    where they are."""

    kind: str
    feeds: Feeds
    expected: Values
    whole: Mapping[str, Shape] | None = None

    def refuse(self, trial: _Trial, pattern: LayerPattern) -> str | None:
        """The reason why the new side is not the same on these values."""
        shapes = " and ".join(shown(a.shape) for a in self.feeds.values())
        given = f"on {'random values' if self.kind == 'random' else self.kind}"
        given += f" of shape {shapes}" if shapes else ""
        try:
            found = _evaluate(trial.module, self.feeds)
        except FAILURES as error:
            return f"{given} its result cannot be computed: {error}"
        for name, wanted in self.expected.items():
            if (reason := _refuse_array(found[name], wanted, pattern)) is not None:
                return f"{given} {reason}"
        return None


def _runs(trial: _Trial, pattern: LayerPattern, shapes: Mapping[str, Shape]) -> Iterator[_Run]:
    """The old side on each kind of values that it is defined for; nothing without random ones."""
    small = cropped(trial.module, shapes)
    whole = None if small == shapes else shapes
    if whole is not None and multiply_adds(trial.module) <= MOST_WORK:
        yield from _some_runs(trial, pattern, shapes, None, only="random")
    yield from _some_runs(trial, pattern, small, whole)


def _some_runs(
    trial: _Trial,
    pattern: LayerPattern,
    shapes: Mapping[str, Shape],
    whole: Mapping[str, Shape] | None,
    only: str | None = None,
) -> Iterator[_Run]:
    elements = input_types(trial.module)
    for kind, feeds in trial_feeds(shapes, elements, zlib.crc32(pattern.name.encode())):
        if kind in pattern.differs_on or only not in (None, kind):
            continue
        try:
            yield _Run(kind, feeds, _evaluate(trial.module, feeds), whole)
        except FAILURES:
            if kind == "random":
                return
        if not feeds or only is not None:  # constants only: there is nothing to vary
            return


def _on_whole(layers: Match, run: _Run, pattern: LayerPattern) -> _Run | None:
    """The same kind of values in the whole shapes; None where the old side is not defined there."""
    runs = _some_runs(_Trial.of(layers), pattern, run.whole or {}, None, only=run.kind)
    return next(runs, None)


def _evaluate(module: ModuleOp, feeds: Feeds) -> Values:
    """The outputs of a trial by the references."""
    network = Network.of(module)
    values: dict[SSAValue, Array] = {}
    with np.errstate(all="ignore"):
        for op in network.layers:
            if isinstance(op, InputOp):
                results = [feeds[op.layer_name]]
            else:
                results = op.reference_all([values[operand] for operand in op.operands])
            values.update(zip(op.results, results, strict=True))
    return {name: values[value] for name, value in network.outputs.items()}


def _refuse_array(found: Array, wanted: Array, pattern: LayerPattern) -> str | None:
    """The reason why an array exceeds the difference that the pattern allows; None if not."""
    if found.shape != wanted.shape:
        return f"it gives shape {found.shape}, not {wanted.shape}"
    if pattern.exact:
        bits, ours = wanted.astype(np.float32).view(np.int32), found.astype(np.float32)
        apart = (ours.view(np.int32) != bits) & ~(np.isnan(found) & np.isnan(wanted))
        return _told(apart, found, wanted)
    with np.errstate(invalid="ignore"):
        distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        finite = np.isfinite(wanted)
        largest = float(np.abs(wanted[finite]).max(initial=0.0))
        near = distance <= pattern.bound * max(largest, NORMAL)
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    return _told(~(near | same), found, wanted)


def _told(apart: Array, found: Array, wanted: Array) -> str | None:
    """The first of the elements that are apart."""
    if not apart.any():
        return None
    at = tuple(map(int, np.argwhere(apart)[0]))
    place = f"{int(apart.sum())} of {apart.size} elements"
    return f"it changes {place}: at {list(at)} to {found[at]:.9g} from {wanted[at]:.9g}"


@cache
def kinds() -> tuple[str, ...]:
    """The names of the kinds of values that a pattern may list in `differs_on`."""
    return tuple(kind for kind, _ in trial_feeds({}, {}, 0) if kind != "random")
