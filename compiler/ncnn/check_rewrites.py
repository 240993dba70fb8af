"""Try a rewrite on a copy of its layers before it may happen: `--verify-rewrites`.

    %c = ncnn.Convolution(%x)            old(x), new(x) for random x, and for x with zeros of both
    %y = ncnn.BatchNorm(%c)     tried:   signs, denormals, large values, infinities and NaN; where a
                                         difference exceeds the bound of the pattern: refused

The trial is a network of its own: the layers that take part, the constants that they read, an Input
for every other operand, and an output for every value that layers outside read. Both sides run by
the references. Since nothing but the copy was touched, a refused rewrite leaves no trace.

A pattern says what it promises: `exact`, or else its `bound`; `differs_on`. Where shapes are not
known, the trial is made for some of each rank that the old side accepts. Values on which the old
side fails (an index out of range) are left out.

    reason = refuse_changed_results(pattern, layers)       # for users: one more `legal`
    require_equal_results(pattern, layers)                 # for tests: raises `CompilerBug`
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from ncc.compiler.diagnostics import CompilerBug, NccError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.layer import Array, Layer, Shape, WeightAttr, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp
from ncc.dialects.ncnn.reshape import ABSENT, ReshapeOp

Feeds: TypeAlias = Mapping[str, Array]
Values: TypeAlias = Mapping[str, Array]

NORMAL = float(np.finfo(np.float32).tiny)
DENORMAL = 1e-41
LARGE = 1e12
OPEN_EXTENT = 5
"""What the trial takes for an extent that only the run knows."""

MOST_SHAPES = 6
MOST_ATTEMPTS = 600

FAILURES = (
    NccError,
    VerifyException,
    NotImplementedError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
)
"""How a reference refuses operands it is not made for."""


def refuse_changed_results(pattern: LayerPattern, layers: Match) -> str | None:
    """Why a legal rewrite must not happen, found by trying it: None where both sides are equal."""
    trial = _Trial.of(layers)
    if not trial.outputs:
        return None
    runs = [run for shapes in _shapes(trial.module) for run in _runs(trial, pattern, shapes)]
    if not runs:
        return "it cannot be tried: the references of its layers do not run"
    try:
        pattern.become(PatternRewriter(trial.layers[-1]), *trial.layers)
        trial.module.verify()
    except FAILURES as error:
        return f"it fails: {error}"
    for run in runs:
        if (reason := run.refuse(trial, pattern)) is not None:
            return reason
    return None


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
        shape = tuple(OPEN_EXTENT if extent == DYNAMIC_INDEX else extent for extent in shape)
    shapes = None if shape is None else [shape]
    return InputOp.make([], {}, name=name, blobs=[name], shapes=shapes)


def _network(body: Sequence[Operation], names: Sequence[str]) -> ModuleOp:
    types = [operand.type for operand in body[-1].operands]
    function = FuncOp("network", ((), types), Region(Block(body)))
    function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in names])
    return ModuleOp([function])


# --- what to try it on ----------------------------------------------------------------------


def _inputs(module: ModuleOp) -> dict[str, Shape | None]:
    given = [op for op in module.walk() if isinstance(op, InputOp)]
    return {op.layer_name: shape_of(op.results[0]) for op in given}


def _shapes(module: ModuleOp) -> Iterator[dict[str, Shape]]:
    """Shapes of the inputs: those they have, or one each of some ranks that the layers accept."""
    inputs = _inputs(module)
    options = [[shape] if shape else _guesses(module) for shape in inputs.values()]
    ranks: set[tuple[int, ...]] = set()
    for shapes in islice(product(*options), MOST_ATTEMPTS):
        found = tuple(len(shape) for shape in shapes)
        if found in ranks or len(ranks) == MOST_SHAPES:
            continue
        asked = dict(zip(inputs, shapes, strict=True))
        if None not in inputs.values() or _accepts(module, asked):
            ranks.add(found)
            yield asked


def _guesses(module: ModuleOp) -> list[Shape]:
    """Shapes of as many elements as a Reshape makes, or with extents that weights have."""
    stated = [op for op in module.walk() if isinstance(op, ReshapeOp) and not op.shape_expr]
    counts = {prod(n for n in (op.w, op.h, op.d, op.c) if n != ABSENT) for op in stated}
    flat = [s for n in counts if n > 0 for s in ((n,), (1, n), (1, 1, n), (n, 1, 1))]
    held = [a for op in module.walk() for a in op.properties.values() if isinstance(a, WeightAttr)]
    extents = sorted({extent for weight in held for extent in weight.shape}, reverse=True)[:8]
    outer = extents or [4]
    return flat + [
        shape
        for extent in outer
        for shape in ((extent, 12, 11), (extent,), (extent, 12), (6, extent), (extent, 6, 12, 11))
    ]


def _accepts(module: ModuleOp, shapes: Mapping[str, Shape]) -> bool:
    try:
        infer_shapes(module.clone(), shapes)
    except FAILURES:
        return False
    return True


def _feeds(shapes: Mapping[str, Shape], seed: int) -> Iterator[tuple[str, Feeds]]:
    """Kinds of values by name; the kinds are those of `LayerPattern.differs_on`."""
    generator = np.random.default_rng(seed)
    normal = {n: generator.standard_normal(s, np.float32) for n, s in shapes.items()}
    yield "random", normal
    sprinkled = {
        "zeros": (0.0, -0.0),
        "denormals": (DENORMAL, -DENORMAL),
        "infinities": (np.inf, -np.inf),
        "nan": (np.nan,),
    }
    for kind, values in sprinkled.items():
        feeds = {name: array.copy() for name, array in normal.items()}
        for array in feeds.values():
            chosen = generator.random(array.shape) < 1 / 4
            array[chosen] = generator.choice(np.array(values, np.float32), int(chosen.sum()))
        yield kind, feeds
    yield "large", {name: array * np.float32(LARGE) for name, array in normal.items()}


# --- one run of both sides ------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """What the old side makes of some values."""

    kind: str
    feeds: Feeds
    expected: Values

    def refuse(self, trial: _Trial, pattern: LayerPattern) -> str | None:
        """Why the new side is not the same on these values."""
        shapes = " and ".join("x".join(map(str, a.shape)) for a in self.feeds.values())
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
    for kind, feeds in _feeds(shapes, zlib.crc32(pattern.name.encode())):
        if kind in pattern.differs_on:
            continue
        try:
            yield _Run(kind, feeds, _evaluate(trial.module, feeds))
        except FAILURES:
            if kind == "random":
                return
        if not feeds:  # constants only: there is nothing to vary
            return


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
    """Why an array is not the one wanted, within what the pattern promises."""
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
    return tuple(kind for kind, _ in _feeds({}, 0) if kind != "random")
