"""Layers that say what another one says, and views that the next layer looks through."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.network import Network


def types(module: Any) -> list[str]:
    return [layer.LAYER.type for layer in Network.of(module).layers]


def test_a_default_that_is_written_out_says_the_same(net: Any, optimized: Any) -> None:
    """Two reductions are one, though only one of them states its coefficient of 1."""
    module = net("""
        Input x 0 1 x 0=5 1=3 2=4
        Reduction a 1 1 x a 0=3 1=0 -23303=1,0 5=1
        Reduction b 1 1 x b 0=3 1=0 2=1.0 -23303=1,0 4=0 5=1
    """)
    assert optimized(module) == ["eliminate_common_layer"]
    assert set(Network.of(module).output_names) == {"a", "b"}


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
