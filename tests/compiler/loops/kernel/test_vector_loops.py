"""Loops whose neighbours can share a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.vector_loops import can_be_lane, can_gather, interleaved_loops
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar, to_index

KernelOf: TypeAlias = Callable[..., Kernel]


@pytest.fixture
def kernel(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> KernelOf:
    """kernel(write, *shapes): the one kernel of what `write` writes."""

    def only(write: Callable[..., Any], *shapes: tuple[int, ...]) -> Kernel:
        [found] = kernels_of(make_network(list(shapes), write))
        return found

    return only


def test_a_lane_is_contiguous(kernel: KernelOf) -> None:
    """Operands may also be the same for all neighbours, but not strided."""

    def by_columns(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.map((r, c), x[r, c] * y[r])

    def turned(b: Builder, x: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape[::-1])
        return b.map((r, c), x[c, r])

    found = kernel(by_columns, (10, 20), (10,))
    assert [can_be_lane(found, d) for d in (0, 1)] == [False, True]
    found = kernel(turned, (10, 20))
    assert not any(can_be_lane(found, d) for d in (0, 1))


def gather(at: Callable[[Builder, AffineExpr, AffineExpr, Tensor], list[Scalar]]) -> Any:
    """out[r, c] = x at computed coordinates, of r, c and a grid."""

    def write(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        r, c = b.loops_of(grid.shape)
        return b.map((r, c), x.at(*at(b, r, c, grid)))

    return write


@pytest.mark.parametrize(
    ("at", "lane", "gathers"),
    [
        (lambda b, r, c, grid: [b.index(r), b.index(c)], True, False),
        (lambda b, r, c, grid: [b.index(c), b.index(c)], False, False),
        (lambda b, r, c, grid: [b.index(c), b.index(r)], False, False),
        (lambda b, r, c, grid: [b.index(r), to_index(grid[r, c])], False, True),
        (lambda b, r, c, grid: [to_index(grid[r, c]), b.index(r)], False, False),
        (lambda b, r, c, grid: [b.index(r), to_index(grid[r, 0])], True, True),
    ],
    ids=["rows", "diagonal", "columns", "anywhere", "far", "alike"],
)
def test_computed_coordinates_of_neighbours(
    kernel: KernelOf, at: Any, lane: bool, gathers: bool
) -> None:
    """Vectors are read where only the last coordinate moves, as the loop; gathered where what moves
    is computed, and not the outermost coordinate.
    """
    found = kernel(gather(at), (16, 16), (16, 16))
    assert can_be_lane(found, 1) is lane
    assert can_gather(found, 1) is gathers


@pytest.mark.parametrize(("columns", "found"), [(1, False), (2, True), (8, True), (9, False)])
def test_a_few_columns_are_interleaved(kernel: KernelOf, columns: int, found: bool) -> None:
    """Rows are the lane, and there are more of them."""

    def by_rows(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.map((r, c), x[r, c] * y[r])

    wide = kernel(by_rows, (99, columns), (99,))
    assert interleaved_loops(wide) == ((0, 1) if found else None)
    assert interleaved_loops(kernel(by_rows, (columns, columns), (columns,))) is None


def test_where_nothing_lies_between_neighbours_nothing_is_interleaved(kernel: KernelOf) -> None:
    """A block of rows whose columns are strided, too, and one that is contiguous."""

    def part(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops("r:99 c:3")
        return b.map((c, r), x[c, r] * y[r])

    assert interleaved_loops(kernel(part, (3, 99), (99,))) is None

    def of_wider_rows(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops("r:99 c:3")
        return b.map((r, c), b.slice(x, (0, 0), (99, 3))[r, c] * y[r])

    assert interleaved_loops(kernel(of_wider_rows, (99, 4), (99,))) is None


def test_what_is_stored_apart_is_no_lane(kernel: KernelOf) -> None:
    """Though all operands are contiguous, or gathered."""

    def repeated(b: Builder, x: Tensor) -> Tensor:
        r, c = b.loops(f"r:{x.shape[0]} c:20")
        return b.map((r, c), x[r])

    def gathered(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        r, c = b.loops_of(grid.shape)
        return b.map((c, r), x.at(b.index(r), to_index(grid[r, c])))

    assert not can_be_lane(kernel(repeated, (10,)), 0)
    found = kernel(gathered, (16, 16), (16, 16))
    assert [can_gather(found, d) for d in (0, 1)] == [False, False]


def test_what_sums_or_reads_nowhere_is_not_gathered(kernel: KernelOf) -> None:
    """Sums are not gathered."""

    def summed(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        r, c = b.loops_of(grid.shape)
        return b.sum((c,), (r,), x.at(b.index(r), to_index(grid[r, c])))

    def squared(b: Builder, x: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.map((r, c), x[r, c] * x[r, c])

    sums = kernel(summed, (16, 16), (16, 16))
    assert not any(can_gather(sums, d) for d in range(2))
    plain = kernel(squared, (16, 16))
    assert not any(can_gather(plain, d) for d in range(len(plain.extents)))


def test_neither_sums_of_rows_nor_gathers_are_interleaved(kernel: KernelOf) -> None:
    """The lane is stored, and everything has an address."""

    def of_columns(b: Builder, x: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.max((c,), (r,), x[r, c])

    def beside_gathers(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.map((r, c), x[r, c] * y[r] + y.at(to_index(y[r])))

    assert interleaved_loops(kernel(of_columns, (99, 3))) is None
    assert interleaved_loops(kernel(beside_gathers, (99, 3), (99,))) is None
