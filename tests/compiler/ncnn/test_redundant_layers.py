"""Layers that say what another one says, and views that the next layer looks through."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.optimize import explain, optimize_module
from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.network import Network
from ncc.dialects.weights.stored import noting
from tests.executed_lines import lines_of
from tests.ncnn_text import types


def test_a_default_that_is_written_out_says_the_same(net: Any, optimized: Any) -> None:
    """Two reductions are one, though only one of them states its coefficient of 1."""
    module = net("""
        Input x 0 1 x 0=5 1=3 2=4
        Reduction a 1 1 x a 0=3 1=0 -23303=1,0 5=1
        Reduction b 1 1 x b 0=3 1=0 2=1.0 -23303=1,0 4=0 5=1
    """)
    assert optimized(module) == ["eliminate_common_layer"]
    assert set(Network.of(module).output_names) == {"a", "b"}


def test_zeros_of_both_signs_say_two_things(net: Any) -> None:
    """A number over one of them is infinite, over the other one as much below zero."""
    module = net("""
        Input x 0 1 x 0=5
        BinaryOp a 1 1 x a 0=3 1=1 2=0.0
        BinaryOp b 1 1 x b 0=3 1=1 2=-0.0
    """)
    assert not canonicalize(module)


@pytest.mark.parametrize("differs_at", [0, 1000, None])
def test_constants_are_told_apart_by_their_first_values(
    tmp_path: Path, differs_at: int | None
) -> None:
    """All values are looked at where the first are the same, of as many constants as there are."""
    values = np.zeros((2, 1001), np.float32)
    if differs_at is not None:
        values[1, differs_at] = 1
    values.tofile(tmp_path / "net.bin")
    (tmp_path / "net.param").write_text(
        "7767517\n3 3\nMemoryData a 0 1 a 0=1001\nMemoryData b 0 1 b 0=1001\n"
        "BinaryOp y 2 1 a b y 0=0\n"
    )
    module = read(tmp_path / "net.param").module
    with noting() as pieces:
        assert len(canonicalize(module)) == (differs_at is None)
    assert (max(piece.size for piece in pieces) < 100) == (differs_at == 0)


def test_constants_of_two_types_are_two(tmp_path: Path) -> None:
    """Zeros that are added, and the same bits that are looked up as words."""
    np.zeros(4 + 4 + 1 + 12, np.float32).tofile(tmp_path / "net.bin")
    (tmp_path / "net.param").write_text(
        "7767517\n5 6\nInput x 0 1 x 0=4\nMemoryData a 0 1 a 0=4\nMemoryData b 0 1 b 0=4\n"
        "BinaryOp y 2 1 x a y 0=0\nEmbed z 1 1 b z 0=4 1=3 3=12\n"
    )
    assert not canonicalize(read(tmp_path / "net.param").module)


def test_many_layers_of_one_value_are_one(net: Any) -> None:
    """The first of them is found at once, before all those behind it."""
    lines = [f"Sigmoid s{n} 1 1 x y{n}\nTanH t{n} 1 1 y{n} z{n}" for n in range(150)]
    module = net("\n".join(["Input x 0 1 x 0=5", *lines]))
    assert len(canonicalize(module)) == 2 * 149
    assert types(module) == ["Input", "Sigmoid", "TanH"]


@pytest.mark.parametrize(
    "line", ["BinaryOp y{n} 1 1 x y{n} 0=0 1=1 2={n}.5", "MemoryData y{n} 0 1 y{n} 0=3"]
)
def test_each_layer_is_looked_for_in_a_table(net: Any, line: str) -> None:
    """Twice as many that say different things take twice as long."""
    lines_run = []
    for count in (100, 200):
        lines = [line.format(n=n) for n in range(count)]
        module = net("\n".join(["Input x 0 1 x 0=5", *lines]))
        lines_run.append(lines_of(partial(canonicalize, module)))
        assert len(types(module)) == 1 + count
    assert lines_run[1] < 2.5 * lines_run[0]


def test_a_layer_that_has_changed_says_something_else(net: Any) -> None:
    """Two convolutions are one, but where the first has become one with its activation."""
    one, other = (f"Convolution {name} 1 1 x {name} 0=2 1=1 6=8" for name in "ab")
    weights: dict[str, object] = {f"{name}.weight": 1 for name in "ab"}
    lines = ["Input x 0 1 x 0=5 1=3 2=4", one, "ReLU r 1 1 a r", other]
    module = net("\n".join(lines), weights)
    assert [rewrite.pattern for rewrite in optimize_module(module)] == [
        "fuse_convolution_activation"
    ]
    assert types(module) == ["Input", "Convolution", "Convolution"]


@pytest.mark.parametrize("view", ["Flatten f 1 1 x f", "Reshape f 1 1 x f 0=1 1=1 2=60"])
def test_a_product_looks_through_a_view(net: Any, optimized: Any, view: str) -> None:
    """All elements are multiplied, whatever shape they have."""
    module = net(f"Input x 0 1 x 0=5 1=3 2=4\n{view}\nInnerProduct y 1 1 f y 0=2 1=1 2=120")
    assert optimized(module) == ["eliminate_reshape_before_innerproduct"]
    assert types(module) == ["Input", "InnerProduct"]


@pytest.mark.parametrize(
    ("shape", "view", "said"),
    [
        ("0=4 1=3 2=5", "Reshape f 1 1 x f 0=12 1=5", "the rows of 5x12"),
        ("0=12 1=1", "Flatten f 1 1 x f", "the rows of 1x12"),
    ],
)
def test_rows_of_a_matrix_stay_rows(
    net: Any, optimized: Any, shape: str, view: str, said: str
) -> None:
    """A matrix with as many columns as the weights is multiplied row by row."""
    module = net(f"Input x 0 1 x {shape}\n{view}\nInnerProduct y 1 1 f y 0=2 1=1 2=24")
    assert not optimized(module)
    reasons = explain(module, "eliminate_reshape_before_innerproduct")
    assert reasons == [("y", f"{said} are multiplied each by itself")]
