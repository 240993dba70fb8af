"""Which loops of a contraction move which of its factors."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones, relu


def test_loops_are_told_by_the_factors_that_they_move(
    make_network: Callable[..., ModuleOp],
) -> None:
    """A product of matrices in batches; a sum of one factor alone is none of its dims."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(2, 5, 4))
        g, m, n, k, rest = b.loops("g m n k rest")
        return b.sum((g, m, n), (k, rest), x[g, m, k, rest] * w[g, n, k])

    (op,) = generics_of(network_of(make_network([(2, 3, 4, 6)], write)).body.block)
    dims = ContractionDims.of(LinalgOp(op))
    assert dims is not None
    assert (dims.batch, dims.m, dims.n, dims.k) == ((0,), (1,), (2,), (3,))
    assert (len(dims.lhs.index), len(dims.rhs.index)) == (4, 3)


def test_what_is_no_sum_of_products_has_none(make_network: Callable[..., ModuleOp]) -> None:
    """Though its loops are parallel as well."""
    (op,) = generics_of(network_of(make_network([(2, 3)], relu)).body.block)
    assert ContractionDims.of(LinalgOp(op)) is None
