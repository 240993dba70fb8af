"""Inputs to try a rewrite on: shapes that its layers accept, and values that reveal differences.

Layers that look at a neighbourhood say nothing new in the middle of a large picture: special values
are tried on a corner of it (`cropped`), and so are random ones where the whole would take long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ncc.compiler.diagnostics import NccError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.dialects.bfloat16 import to_bfloat16
from ncc.dialects.element import dtype_of, is_integer
from ncc.dialects.ncnn.layer import Array, Shape, WeightAttr, shape_of
from ncc.dialects.ncnn.movement.reshape import ABSENT, ReshapeOp
from ncc.dialects.ncnn.plumbing import InputOp

Feeds: TypeAlias = Mapping[str, Array]

DENORMAL = 1e-41
LARGE = 1e12

MOST_SHAPES = 6
MOST_ATTEMPTS = 600

SMALL_EXTENTS = (16, 32, 64)
"""A picture is cropped to extents below the first of these that its layers accept."""

KEPT_REMAINDER = 8
"""A cropped extent leaves the same remainder by this as the whole one: windows with a stride end
at the edge as they did."""

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


def _inputs(module: ModuleOp) -> dict[str, Shape | None]:
    given = [op for op in module.walk() if isinstance(op, InputOp)]
    return {op.layer_name: shape_of(op.results[0]) for op in given}


def trial_shapes(module: ModuleOp) -> Iterator[dict[str, Shape]]:
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


def trial_feeds(
    shapes: Mapping[str, Shape], elements: Mapping[str, Attribute], seed: int
) -> Iterator[tuple[str, Feeds]]:
    """Kinds of values by name; the kinds are those of `LayerPattern.differs_on`."""
    for kind, feeds in _plain_feeds(shapes, seed):
        yield kind, {name: _as_elements(array, elements[name]) for name, array in feeds.items()}


def _as_elements(array: Array, element: Attribute) -> Array:
    """Float32 as another type; as integers, sixteenths within the limits of int8."""
    if element == bf16:
        return to_bfloat16(array)
    if is_integer(element):
        array = np.clip(np.nan_to_num(array * np.float32(16)), -127, 127)
    with np.errstate(over="ignore"):
        return array.astype(dtype_of(element), copy=False)


def _plain_feeds(shapes: Mapping[str, Shape], seed: int) -> Iterator[tuple[str, Feeds]]:
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


def cropped(module: ModuleOp, shapes: Mapping[str, Shape]) -> Mapping[str, Shape]:
    """Smaller pictures that a module's layers accept as well; the same where there are none."""
    for limit in SMALL_EXTENTS:
        smaller = {name: _below(limit, shape) for name, shape in shapes.items()}
        if smaller != shapes and _accepts(module, smaller):
            return smaller
    return shapes


def _below(limit: int, shape: Shape) -> Shape:
    """The first axis counts channels, and weights know how many there are."""
    if len(shape) < 3:
        return shape
    remainders = (limit - KEPT_REMAINDER + extent % KEPT_REMAINDER for extent in shape[1:])
    return (shape[0], *map(min, shape[1:], remainders))
