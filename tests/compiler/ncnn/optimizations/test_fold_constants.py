"""What constants make is a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import MemoryDataOp


def test_a_chain_of_constants_is_one(net: Any, optimized: Any) -> None:
    """Arithmetic, another shape and a part of a constant are computed once and for all."""
    module = net(
        """
        Input x 0 1 x 0=3 1=2
        MemoryData k 0 1 k 0=6
        BinaryOp a 1 1 k a 0=2 1=1 2=2
        Reshape r 1 1 a r 0=3 1=2
        BinaryOp y 2 1 x r y 0=4
        """,
        {"k.data": [1, 2, 3, 4, 5, 6]},
    )
    optimized(module)
    constant = Network.of(module).layers[1]
    assert isinstance(constant, MemoryDataOp) and len(Network.of(module).layers) == 3
    np.testing.assert_array_equal(constant.values.array(), [[2, 4, 6], [8, 10, 12]])
    assert (constant.layer_name, constant.blob_names) == ("r", ("r",))


def test_parts_are_constants_each(net: Any, optimized: Any) -> None:
    """A layer of several results makes several constants; one that nobody reads goes."""
    module = net(
        """
        Input x 0 1 x 0=3
        MemoryData k 0 1 k 0=6
        Slice s 1 2 k a b -23300=2,-233,-233
        BinaryOp y 2 1 x b y 0=2
    """,
        outputs=["y"],
    )
    optimized(module)
    types = [layer.LAYER.type for layer in Network.of(module).layers]
    assert types == ["Input", "MemoryData", "BinaryOp"]


def test_a_constant_of_int8_stays_to_be_made(net: Any, optimized: Any) -> None:
    """A file holds constants of float32 only: what quantizes one stays a layer."""
    module = net(
        """
        MemoryData k 0 1 k 0=3
        Quantize q 1 1 k q 0=1
        """,
        {"k.data": [1, 2, 3], "q.scale_data": [10]},
    )
    assert not optimized(module)
    assert explain(module, "fold_constants") == [("q", "a constant of int8 cannot be written")]


def test_a_file_does_not_grow_much(net: Any, optimized: Any) -> None:
    """A small constant repeated many times stays a layer."""
    module = net("""
        Input x 0 1 x 0=300 1=300
        MemoryData k 0 1 k 0=1 1=300
        Tile t 1 1 k t 0=1 1=300
        BinaryOp y 2 1 x t y 0=0
    """)
    assert not optimized(module)
    assert explain(module, "fold_constants") == [("t", "300 elements would become 90000")]


def test_a_constant_output_stays_an_output(net: Any, optimized: Any) -> None:
    """An output that constants make is a constant, by its name."""
    module = net("MemoryData k 0 1 k 0=6\nAbsVal y 1 1 k y")
    optimized(module)
    assert list(Network.of(module).outputs) == ["y"]
    assert len(Network.of(module).layers) == 1


@pytest.mark.parametrize("pad", [1, 3_000_000, 1_000_000_000])
def test_a_long_way_to_a_small_result_is_left_to_the_run(pad: int, net: Any) -> None:
    """A border of such a width would have to be made here."""
    module = net(
        f"""
        MemoryData k 0 1 k 0=3
        Padding p 1 1 k a 2={pad} 3={pad}
        Crop c 1 1 a y -23309=1,0 -23310=1,2
        Pooling1D q 1 1 k z 1=1 2={2 * pad} 3={pad} 5=1
        """,
        {"k.data": [1, 2, 3]},
    )
    refusals = dict(explain(module, "fold_constants"))
    assert ("q" in refusals) == (pad > 1)
    assert ("p" in refusals) == (pad > 1)
    if pad > 1:
        assert refusals["q"] == f"a step that computes it has {2 * pad + 3} elements"
