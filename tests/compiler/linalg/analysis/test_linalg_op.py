"""What passes and schedulers see of an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, maximum
from tests.compiler.linalg.operations import ones, relu

Write: TypeAlias = Callable[..., Tensor]
ViewOf: TypeAlias = Callable[..., LinalgOp]


@pytest.fixture
def linalg_op(make_network: Callable[..., ModuleOp]) -> ViewOf:
    """view(write, *shapes): the last operation of a network."""

    def last(write: Write, *shapes: Any) -> LinalgOp:
        block = network_of(make_network(list(shapes), write)).body.block
        *_, generic = (op for op in block.ops if isinstance(op, GenericOp))
        return LinalgOp(generic)

    return last


def grouped(b: Builder, x: Tensor) -> Tensor:
    """A convolution in groups: x[g, i, y + k] * w[g, o, i, k]."""
    w = b.weight(ones(x.shape[0], 5, x.shape[1], 3))
    g, o, y, i, k = b.loops(f"g o y:{x.shape[2] - 2} i k")
    return b.sum((g, o, y), (i, k), x[g, i, y + k] * w[g, o, i, k])


def test_loops_and_extents(linalg_op: ViewOf) -> None:
    """In the order in which they are written, parallel ones first."""
    found = linalg_op(grouped, (2, 4, 9))
    assert found.extents == (2, 5, 7, 4, 3)
    assert (found.parallel, found.reduced) == ((0, 1, 2), (3, 4))


def test_the_data_of_a_product_come_first(linalg_op: ViewOf) -> None:
    """Whichever operand the sum names first is data; a sum of squares has one for both."""

    def scaled(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.sum((r,), (c,), x[r, c] * y[c])

    def of_exponentials(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.sum((r,), (c,), exp(x[r, c]) * y[c])

    assert linalg_op(scaled, (4, 5), (5,)).product == (0, 1)
    assert linalg_op(of_exponentials, (4, 5), (5,)).product is None
    assert linalg_op(scaled, (4, 5), (5,)).products == [(0, 1)]
    assert linalg_op(of_exponentials, (4, 5), (5,)).products == []


def test_a_sum_of_several_products(linalg_op: ViewOf) -> None:
    """It names the operands of each; it has none where another operation folds them."""

    def of_parts(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops("r c", c=4)
        high, low = (x[r, c * 2 + n] for n in range(2))
        return b.sum((r,), (c,), high * y[c, 0] + high * y[c, 1] + low * y[c, 0])

    def of_largest(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.max((r,), (c,), x[r, c] * y[c])

    found = linalg_op(of_parts, (3, 8), (4, 2))
    assert found.product is None
    assert sorted(found.products) == [(0, 1), (0, 2), (3, 1)]
    assert linalg_op(of_largest, (4, 5), (5,)).products == []


def test_what_is_folded(linalg_op: ViewOf) -> None:
    """The operation with the accumulator; a map has none, and does not read its result."""

    def largest(b: Builder, x: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.max((r,), (c,), x[r, c])

    found, plain = linalg_op(largest, (4, 5)), linalg_op(relu, (4, 5))
    assert found.combiner is not None and found.combiner[0].name == "arith.maxnumf"
    assert found.reads_outs and not found.is_pointwise
    assert not plain.reads_outs and plain.is_pointwise and plain.combiner is None


def test_an_operand_that_says_only_an_extent_is_not_live(linalg_op: ViewOf) -> None:
    """A window's size, which no axis has."""

    def pooled(b: Builder, x: Tensor) -> Tensor:
        y, k = b.loops(f"y:{x.shape[0] // 2} k:2")
        return b.sum((y,), (k,), x[y * 2 + k])

    found = linalg_op(pooled, (8,))
    assert len(found.reads) > len(found.live) == 1


def test_coordinates_that_are_computed(linalg_op: ViewOf) -> None:
    """Loops whose numbers the body reads, and tensors where these lead it: each once."""

    def gathered(b: Builder, x: Tensor) -> Tensor:
        y, z = b.loops_of((3, 4))
        at = b.index(z)
        return b.map((y, z), x.at(at) + maximum(x.at(at), x[0]))

    found = linalg_op(gathered, (4,))
    assert found.indexed == {1} and len(found.captured) == 1
    assert found.computes_coordinates and not linalg_op(relu, (4,)).computes_coordinates


def test_axes_are_loops_that_stand_alone(linalg_op: ViewOf) -> None:
    """Each once: neither a diagonal, nor a window, nor a constant."""

    def written(b: Builder, x: Tensor) -> Tensor:
        y, z = b.loops("y:3 z:3")
        return b.map((y, z), x[y, z] + x[z, y] + x[y, y] + x[y, 0])

    reads = linalg_op(written, (3, 3)).reads
    assert [access.axes for access in reads] == [(0, 1), (1, 0), None, None]
    assert [access.begins_with(0) for access in reads] == [True, False, False, True]
    assert reads[0].begins_with(0, 1) and not reads[1].begins_with(0, 1)


def test_it_describes_itself_in_index_notation(linalg_op: ViewOf) -> None:
    """For whoever reads a dump."""
    found = linalg_op(grouped, (2, 4, 9))
    assert found.describe() == "y[d0,d1,d2] addf= x[d0,d3,d2+d4] , w[d0,d1,d3,d4]"
