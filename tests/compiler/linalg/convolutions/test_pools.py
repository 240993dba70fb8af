"""Pools of an image in chunks: which computations read no two of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.convolutions.pools import Pool, pool_of
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.computations import add, relu, turned
from tests.compiler.linalg.convolutions.layers import pointwise, weights

MakeNetwork = Callable[..., ModuleOp]
Write = Callable[[Builder, Tensor], Tensor]

ROWS, CHUNKS = 16, 4
"""Of an image."""


def largest(b: Builder, x: Tensor, *, window: int = 2, step: int = 2, rows: int = 8) -> Tensor:
    c, p, q, k, m = b.loops(f"c p:{rows} q:{x.shape[2] // 2} k:{window} m:2")
    return b.max((c, p, q), (k, m), x[c, p * step + k, q * 2 + m])


def turned_pool(b: Builder, x: Tensor) -> Tensor:
    c, p, q, k, m = b.loops(f"c p:{x.shape[2] // 2} q:{x.shape[1] // 2} k:2 m:2")
    return b.max((c, p, q), (k, m), x[c, q * 2 + m, p * 2 + k])


def depthwise(b: Builder, x: Tensor) -> Tensor:
    w = weights(b, (x.shape[0], 2, 2))
    c, p, q, k, m = b.loops(f"c p:{x.shape[1] // 2} q:{x.shape[2] // 2} k m")
    return b.sum((c, p, q), (k, m), x[c, p * 2 + k, q * 2 + m] * w[c, k, m])


def largest_on_top(b: Builder, x: Tensor) -> Tensor:
    """The largest of x and of windows of a weight of more rows."""
    other = weights(b, (x.shape[0], 2 * x.shape[1], x.shape[2]))
    c, p, q, k = b.loops(f"c p:{x.shape[1]} q:{x.shape[2]} k:2")
    return b.max((c, p, q), (k,), other[c, p * 2 + k, q], x)


def pool(make_network: MakeNetwork, write: Write, chunks: int = CHUNKS) -> Pool | None:
    """What is found to read an image in chunks."""
    module = make_network([(4, ROWS, 16)], lambda b, x: write(b, relu(b, x)))
    image = next(iter(generics_of(network_of(module).body.block))).results[0]
    return pool_of(image, ROWS // chunks, chunks)


@pytest.mark.parametrize(
    ("write", "ops"),
    [
        (largest, 1),
        (lambda b, x: relu(b, largest(b, x)), 2),
        (lambda b, x: pointwise(b, largest(b, x)), 1),
        (lambda b, x: largest(b, x, window=1), 1),
    ],
    ids=["pool", "and what follows", "but no sum", "window of one row"],
)
def test_pools(make_network: MakeNetwork, write: Write, ops: int) -> None:
    """Each chunk of four rows makes two."""
    found = pool(make_network, write)
    assert found is not None and (len(found.ops), found.rows) == (ops, 2)


@pytest.mark.parametrize(
    "write",
    [
        relu,
        depthwise,
        turned_pool,
        largest_on_top,
        lambda b, x: largest(b, x, window=3, rows=7),
        lambda b, x: largest(b, x, window=3, step=3, rows=5),
        lambda b, x: largest(b, x, rows=6),
        lambda b, x: turned(b, largest(b, x)),
        lambda b, x: add(b, largest(b, x), weights(b, (4, 8, 8))),
        lambda b, x: add(b, largest(b, x), turned(b, largest(b, x))),
    ],
    ids=[
        "no window",
        "a product",
        "turned",
        "on top of it",
        "rows of two chunks",
        "another step",
        "not the last chunk",
        "turned behind",
        "added to other rows",
        "two readers",
    ],
)
def test_no_pools(make_network: MakeNetwork, write: Write) -> None:
    """Each of these needs rows of two chunks, or more than rows."""
    assert pool(make_network, write) is None


def test_one_chunk(make_network: MakeNetwork) -> None:
    """There is nothing to put together."""
    assert pool(make_network, largest, chunks=1) is None
