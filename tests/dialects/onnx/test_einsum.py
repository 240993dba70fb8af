"""Einsum."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from tests.onnx.models import check_operator

RNG = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bqhd, bkhd -> bhqk", [(1, 2, 3, 4), (1, 5, 3, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("ba", [(2, 3)]),
        ("ij->", [(2, 3)]),
    ],
)
def test_sums_of_products(equation: str, shapes: list[tuple[int, ...]]) -> None:
    """What numpy makes of it."""
    xs = [RNG.standard_normal(shape, np.float32) for shape in shapes]
    wanted = np.asarray(np.einsum(equation.replace(" ", ""), *xs))
    check_operator("Einsum", {"equation": equation}, xs, expected=[wanted])


def test_what_is_wrong() -> None:
    """Letters that do not fit."""
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ModelError, match="'j' runs over 3 and 2"):
        check_operator("Einsum", {"equation": "ij,jk->ik"}, [x, x])
    with pytest.raises(ModelError, match="has 2 operands, not 1"):
        check_operator("Einsum", {"equation": "ij,jk->ik"}, [x])
