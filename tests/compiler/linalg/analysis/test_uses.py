"""Who alone makes a value, and who alone reads it."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.analysis.uses import producer_of, reader_of
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import add, relu, work


def test_one_makes_and_one_reads(make_network: Callable[..., ModuleOp]) -> None:
    """No argument is made, and what two read, or none but the network's end, has no reader."""

    def write(b: Builder, x: Tensor) -> Tensor:
        both = relu(b, work(b, x))
        return add(b, relu(b, both), both)

    first, both, twice, last = generics_of(network_of(make_network([(4, 5)], write)).body.block)
    assert producer_of(first.results[0]) is first and reader_of(first.results[0]) is both
    assert producer_of(both.results[0]) is None and reader_of(both.results[0]) is None
    assert reader_of(twice.results[0]) is last
    assert producer_of(last.results[0]) is last and reader_of(last.results[0]) is None
    x = LinalgOp(first).reads[0].value
    assert producer_of(x) is None and reader_of(x) is first
