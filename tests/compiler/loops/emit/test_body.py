"""The operations of a point: products that are fused into sums, and those that round alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from xdsl.dialects import arith, math, vector

from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import AVX512, BASELINE, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import floor, maximum, to_index
from tests.compiler.loops.conftest import Kernels

Write = Callable[..., Tensor]
Operations = Callable[..., Counter[str]]

FUSED = (vector.FMAOp.name, math.FmaOp.name)
PRODUCT, SUM = arith.MulfOp.name, arith.AddfOp.name


@pytest.fixture
def operations(kernels: Kernels) -> Operations:
    """operations(write, *shapes): how often the code of the last kernel has which operation."""

    def count(
        layer: Callable[..., Tensor], *shapes: object, target: Target = AVX512
    ) -> Counter[str]:
        *_, kernel = kernels(layer, *shapes)
        code = write(kernel, choose(kernel, target), "kernel")
        return Counter(op.name for op in code.walk())

    return count


def affine(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] * 3.0 + 1.0)


@pytest.mark.parametrize("target", [AVX512, BASELINE], ids=lambda target: target.name)
def test_a_product_and_a_sum_are_one(operations: Operations, target: Target) -> None:
    """In vectors as in the remainder of a row, so that an element has the same bits in both."""
    found = operations(affine, (33,), target=target)
    assert found[vector.FMAOp.name] and found[math.FmaOp.name]
    assert not found[PRODUCT] and not found[SUM]


def test_a_product_that_is_read_twice(operations: Operations) -> None:
    """The other reader needs it anyway."""

    def twice(b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        product = x[at] * 3.0
        return b.map(at, maximum(product, product + 1.0))

    found = operations(twice, (32,))
    assert found[PRODUCT] and found[SUM] and not any(map(found.get, FUSED))


def test_terms_of_a_sum(operations: Operations) -> None:
    """Each product is fused into the accumulator."""

    def dot(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        i, k = b.loops_of(x.shape)
        return b.sum((i,), over=(k,), of=x[i, k] * y[i, k])

    found = operations(dot, (4, 64), (4, 64))
    assert found[vector.FMAOp.name] and not found[PRODUCT]


def test_coordinates_are_rounded_step_by_step(operations: Operations) -> None:
    """The last bit of a coordinate may decide a floor; the arithmetic of elements has no floor."""

    def gather(b: Builder, x: Tensor, subviews: Tensor) -> Tensor:
        (i,) = b.loops_of(subviews.shape)
        element = x.at(to_index(floor(subviews[i] * 0.5 + 0.25)))
        return b.map((i,), element * 3.0 + 1.0)

    found = operations(gather, (40,), (32,))
    assert found[PRODUCT] and found[SUM] and any(map(found.get, FUSED))
