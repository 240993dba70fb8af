"""Faults that are planted in what is compiled, not in what it is held against.

with planted(param, bin, kind, generator, feeds, folder) as fault:
    report = verify(param, bin, feeds=feeds)        # must differ, unless fault.is_rounding
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from ncc.compiler.driver import compile as front
from ncc.compiler.options import Options
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.difference import Comparison, difference
from ncc.compiler.verification.interpret import run_layers
from ncc.compiler.verification.noise import Noise, exact
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.convolution.windowed import Windowed
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.layer import Array, Layer, LayerError, WeightAttr
from ncc.dialects.ncnn.movement.movement import ConcatOp, FlipOp, PermuteOp
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.param import ParamValue, to_attribute
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.ncnn.pooling.pooling import PoolingLayer
from ncc.dialects.ncnn.reduction.reduction import ReductionOp, SoftmaxOp
from ncc.dialects.ncnn.reduction.scan import CumulativeSumOp

Generator: TypeAlias = np.random.Generator
Plant: TypeAlias = Callable[[Layer, Generator], bool]
"""Makes a layer wrong, and tells whether it could."""

TOO_MUCH = 1e-3
ATTEMPTS = 40
SAMPLES = 4


def one_weight(op: Layer, generator: Generator) -> bool:
    """A weight that is off by a thousandth of the largest one of its kind."""
    return _change(op, generator, lambda w: _one_off(w, TOO_MUCH * np.abs(w).max(), generator))


def one_weight_by_itself(op: Layer, generator: Generator) -> bool:
    """A weight that is off by a thousandth."""
    return _change(op, generator, lambda w: _one_off(w, TOO_MUCH, generator))


def all_weights(op: Layer, generator: Generator) -> bool:
    """All weights of a kind, a thousandth too large."""
    return _change(op, generator, lambda w: w * np.float32(1 + TOO_MUCH))


def _one_off(weights: Array, by: float, generator: Generator) -> Array:
    changed = weights.copy()
    changed.flat[int(generator.integers(changed.size))] += np.float32(by)
    return changed


def _change(op: Layer, generator: Generator, change: Callable[[Array], Array]) -> bool:
    weights = {name: op.properties.get(name) for name in op.LAYER.weights}
    floats = [
        (name, held.array())
        for name, held in weights.items()
        if isinstance(held, WeightAttr) and "scale" not in name.replace("scale_data", "")
    ]
    floats = [(name, array) for name, array in floats if array.dtype == np.float32]
    if not floats:
        return False
    name, array = floats[int(generator.integers(len(floats)))]
    op.properties[name] = WeightAttr.of(change(array))
    return True


def wrong_pad(op: Layer, generator: Generator) -> bool:
    """One cell more in front of an axis, and one less behind it."""
    if not isinstance(op, Windowed | PoolingLayer):
        return False
    sides = [("pad_left", "pad_right"), ("pad_top", "pad_bottom")]
    sides = [pair for pair in sides if all(name in op.LAYER.params for name in pair)]
    if not sides or any(
        getattr(op, name, False) for name in ("global_pooling", "adaptive_pooling")
    ):
        return False
    front, behind = sides[int(generator.integers(len(sides)))]
    before, after = getattr(op, front), getattr(op, behind)
    if before < 0 or after < 1:
        return False
    every = {name: getattr(op, name) for pair in sides for name in pair}
    return _set(op, **{**every, front: before + 1, behind: after - 1})


def wrong_axis(op: Layer, generator: Generator) -> bool:
    """Another axis, or another order of axes."""
    match op:
        case PermuteOp():
            return _set(op, order_type=int(generator.integers(1, 6)))
        case FlipOp():
            return _set(op, axes=(int(generator.integers(0, 3)),))
        case ReductionOp() if op.axes and not op.reduce_all:
            return _set(op, axes=(int(generator.integers(0, 3)),))
        case SoftmaxOp():
            return _set(op, axis=int(generator.integers(0, 3)), fixbug0=1)
        case ConcatOp() | CumulativeSumOp():
            return _set(op, axis=int(generator.integers(0, 3)))
    return False


def swapped_operands(op: Layer, generator: Generator) -> bool:
    """The first two operands in the other order, where that matters."""
    if not isinstance(op, BinaryOpOp | ConcatOp) or len(op.operands) < 2:
        return False
    first, second, *others = op.operands
    op.operands = [second, first, *others]
    return True


def _set(op: Layer, **params: ParamValue) -> bool:
    before = {name: getattr(op, name) for name in params}
    for name, value in params.items():
        op.properties[name] = to_attribute(op.LAYER.params[name].kind, value)
    return before != params


KINDS: Mapping[str, Plant] = {
    plant.__name__: plant
    for plant in (
        one_weight,
        one_weight_by_itself,
        all_weights,
        wrong_pad,
        wrong_axis,
        swapped_operands,
    )
}


@dataclass(frozen=True)
class Fault:
    """What was planted. is_rounding: whether it changes no result of the layer by more than float32
    in another order may, by the references alone.
    """

    layer: str
    type: str
    is_rounding: bool


@contextmanager
def planted(
    param: Path,
    bin: Path,
    kind: str,
    generator: Generator,
    feeds: Mapping[str, Array],
    folder: Path,
) -> Iterator[Fault | None]:
    """A fault in what `front.compile` compiles of these files; None where none of the kind fits."""
    found = _planted(param, bin, kind, generator, feeds)
    if found is None:
        yield None
        return
    module, fault = found
    paths = folder / param.name, folder / param.with_suffix(".bin").name
    write(module, *paths, hints=False)
    compile = front.compile

    def wrong(_param: Any, _bin: Any, **options: Any) -> Any:
        return compile(*paths, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front, "compile", wrong)
        yield fault


def _planted(
    param: Path, bin: Path, kind: str, generator: Generator, feeds: Mapping[str, Array]
) -> tuple[Any, Fault] | None:
    right = Network.of(read(param, bin).module).layers
    for _ in range(ATTEMPTS):
        module = read(param, bin).module
        layers = Network.of(module).layers
        place = int(generator.integers(len(layers)))
        op = layers[place]
        if isinstance(op, InputOp) or not op.operands or not KINDS[kind](op, generator):
            continue
        given = _given(right[place], feeds)
        try:
            op.check()
            shapes = op.infer_all([array.shape for array in given])
        except LayerError:
            continue
        fits = shapes == right[place].infer_all([array.shape for array in given])
        if fits and (change := _change_of(right[place], op, kind, given)) is not None:
            return module, Fault(op.layer_name, op.type_name, change)
    return None


def _given(op: Layer, feeds: Mapping[str, Array]) -> list[Array]:
    """What a layer reads in an exact run, as float32."""
    parent = op.parent_op()
    assert parent is not None
    network = Network(parent)  # type: ignore[arg-type]
    caught: list[Array] = []

    def compute(layer: Layer, arrays: Sequence[Array]) -> list[Array]:
        if layer is op:
            caught.extend(arrays)
        return exact(layer, arrays)

    for layer, _ in run_layers(network, feeds, compute):
        if layer is op:
            break
    return [a.astype(np.float32) if a.dtype == np.float64 else a for a in caught]


def _change_of(right: Layer, wrong: Layer, kind: str, given: list[Array]) -> bool | None:
    """Whether a fault is rounding; None where it is none."""
    swapped = [given[1], given[0], *given[2:]] if kind == swapped_operands.__name__ else given
    wanted, found = exact(right, given), exact(wrong, swapped)
    if all(np.array_equal(*pair, equal_nan=True) for pair in zip(wanted, found, strict=True)):
        return None
    noise, judges = Noise(Options(opt_level=0)), list(map(Comparison, found, wanted))
    for _ in range(SAMPLES):
        for judge, sample in zip(judges, noise(right, given), strict=True):
            judge.add(sample)
    return all(
        difference(judge.found, judge.exact) == 0
        if judge.found.dtype == np.int8
        else (judge.result.times or 0) <= 1
        for judge in judges
    )
