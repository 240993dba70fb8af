"""Networks of any element types, written in index notation and run as machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, bf16, i1
from xdsl.ir import Attribute, Block, Region

from ncc.compiler.artifact.from_plan import bindings, constants
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.loops.build_network import build
from ncc.compiler.options import Options
from ncc.compiler.passes import linalg_passes
from ncc.dialects.bfloat16 import from_bfloat16
from ncc.dialects.element import (
    ELEMENTS,
    as_stored,
    dtype_of,
    element_of,
    greatest,
    is_integer,
    is_unsigned,
    least,
)
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Array
from ncc.runtime.artifact import Artifact
from ncc.runtime.session import Model
from tests.threads_object import threads_object

Typed: TypeAlias = tuple[Shape, Attribute]
Write: TypeAlias = Callable[..., "Tensor | Sequence[Tensor]"]

WAYS = [(level, target) for target in ("baseline", "avx2", "avx512") for level in (0, 2)]
"""Levels of optimization, each on every kind of vectors."""


def network(types: Sequence[Typed], write: Write) -> ModuleOp:
    """A module of the linalg level whose function is `write(builder, *arguments)`."""
    block = Block(arg_types=[TensorType(element, shape) for shape, element in types])
    tensors = [Tensor(arg, shape) for arg, (shape, _) in zip(block.args, types, strict=True)]
    written = write(Builder(block), *tensors)
    results = [t.value for t in ([written] if isinstance(written, Tensor) else written)]
    block.add_op(func.ReturnOp(*results))
    kinds = ([arg.type for arg in block.args], [result.type for result in results])
    function = func.FuncOp("network", kinds, Region(block))
    for which, count in (("inputs", len(types)), ("outputs", len(results))):
        names = ArrayAttr([StringAttr(f"{which[:-1]}{k}") for k in range(count)])
        function.attributes[which] = names
    module = ModuleOp([function])
    module.verify()
    return module


def model_of(module: ModuleOp, level: int, target: str, threads: int = 1) -> Model:
    """A module of the linalg level as a model."""
    options = Options.of(opt_level=level, target=target, num_threads=threads)
    for one in linalg_passes(options)[1:]:
        one.apply(Context(), module)
    module.verify()
    planned = plan(module, threads, options.target.core.l2_bytes, options.target.costs)
    inputs, outputs = bindings(module, planned, {})
    loops = build(planned, options.target, len(inputs), threads=threads)
    text = emit_llvm(lower(loops.module(), options.target), options.target)
    weights = constants(planned)
    return Model(
        Artifact(
            objects=(threads_object(options.target), emit_object(text, options.target)),
            weights=weights.packed().tobytes() if weights.weights else b"",
            arena_bytes=planned.arena_bytes,
            inputs=inputs,
            outputs=outputs,
            threads=threads,
        )
    )


def run(
    types: Sequence[Typed], write: Write, arrays: Sequence[Array], level: int, target: str
) -> list[Array]:
    """What a network makes of numbers, as arrays of numbers."""
    module = network(types, write)
    returned = network_of(module).body.block.last_op
    elements = [element_of(value) for value in returned.operands] if returned else []
    model = model_of(module, level, target)
    fed = [as_stored(array, element) for array, (_, element) in zip(arrays, types, strict=True)]
    names = [binding.name for binding in model.inputs]
    results = model.run(dict(zip(names, fed, strict=True))).values()
    return [numbers(array, element) for array, element in zip(results, elements, strict=True)]


def numbers(array: Array, element: Attribute) -> Array:
    """What is stored, as numbers: of bfloat16, as float32."""
    return from_bfloat16(array) if element == bf16 else array


USUAL = ("float64", "float16", "bfloat16", "int64", "uint8", "bool")
"""A type of each kind."""

EVERY = [
    pytest.param(
        name,
        level,
        target,
        marks=() if name in USUAL and which == k % len(WAYS) else pytest.mark.sweep,
        id=f"{name}-O{level}-{target}",
    )
    for k, name in enumerate(ELEMENTS)
    for which, (level, target) in enumerate(WAYS)
]
every_type = pytest.mark.parametrize(("name", "level", "target"), EVERY)
"""A type of each kind in one way; in a sweep, all of them in all."""

COUNT = 37
"""Numbers of a sample: two vectors and more, and some left."""


def samples(element: Attribute, seed: int = 0) -> Array:
    """Numbers of a type, the least and the greatest among them."""
    draw = np.random.default_rng(seed)
    if element == i1:
        return draw.integers(0, 2, COUNT).astype(np.bool_)
    if is_integer(element):
        low, high = int(least(element)), int(greatest(element))
        corners: list[float] = [0, 1, 2, 3, 5, 7, 100, low, high, 0, 1, 2]
        found: Array = draw.integers(low, high, COUNT, dtype_of(element), endpoint=True)
    else:
        found = draw.standard_normal(COUNT) * 10
        corners = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5]
    for k, number in enumerate(corners):
        found[k] = number
    return numbers(as_stored(found, element), element)


def divided(x: Array, y: Array) -> Array:
    """Quotients; of integers towards zero, 0 if the divisor is 0, and wrapped around."""
    if x.dtype.kind == "f":
        return np.asarray(x / y)
    signs = (1, -1)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    found = [b and abs(a) // abs(b) * signs[(a < 0) != (b < 0)] for a, b in pairs]
    size = x.dtype.itemsize
    return np.array([n % (1 << (8 * size)) for n in found], f"u{size}").view(x.dtype)


def whole(element: Attribute, shape: Shape, seed: int = 0) -> Array:
    """Small numbers, quarters of floats, whose sums are exact in any order."""
    draw = np.random.default_rng(seed)
    low = 0 if is_unsigned(element) else -4
    if is_integer(element):
        return draw.integers(low, 2 if element == i1 else 4, shape).astype(dtype_of(element))
    return numbers(as_stored(draw.integers(-8, 8, shape) / 4, element), element)
