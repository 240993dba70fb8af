"""Running sums, and sums of products by letters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

node = helper.make_node


@pytest.mark.parametrize(("axis", "reverse"), [(0, 0), (1, 1), (-1, 0), (2, 1)])
def test_running_sums(converts: Any, numbers: Any, axis: int, reverse: int) -> None:
    """From either end of any axis."""
    one = node("CumSum", ["x", "axis"], ["y"], reverse=reverse)
    converts([one], {"x": numbers(2, 3, 4, 5)}, {"axis": np.array(axis)})


def test_a_running_sum_without_the_element_itself(refuses: Any, numbers: Any) -> None:
    """ncnn has none."""
    one = node("CumSum", ["x", "axis"], ["y"], "before", exclusive=1)
    refuses([one], {"x": numbers(3, 4)}, {"axis": np.array(0)}, "'before'")


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("bhqd,bhkd->bhqk", [(1, 2, 3, 4), (1, 2, 5, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
        ("nctkv,kvw->nctw", [(1, 2, 3, 2, 4), (2, 4, 5)]),
        ("bij,bjk", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,jk->...ik", [(2, 3, 4), (4, 5)]),
        ("a,b,c->cba", [(2,), (3,), (4,)]),
        ("ij->j", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("i,i->", [(5,), (5,)]),
        ("ii->i", [(4, 4)]),
        ("ii", [(4, 4)]),
        ("zi,zj->ij", [(1, 4), (3, 5)]),
    ],
)
def test_products(
    converts: Any, numbers: Any, equation: str, shapes: list[tuple[int, ...]]
) -> None:
    """Of two matrices, of heads, of one operand, without a letter in the result."""
    names = [f"x{k}" for k in range(len(shapes))]
    fed = {name: numbers(*one) for name, one in zip(names, shapes, strict=True)}
    converts([node("Einsum", names, ["y"], equation=equation)], fed)
