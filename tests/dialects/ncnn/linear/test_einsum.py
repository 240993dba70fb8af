"""Sums of products that are said by letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Check = Callable[..., Any]


def codes(equation: str) -> dict[str, Any]:
    return {"equation": tuple(map(ord, equation))}


def small(*shape: int) -> Any:
    return (np.arange(np.prod(shape), dtype=np.float32) % 5 - 2).reshape(shape)


@pytest.mark.layer("Einsum")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def test_einsum(check_layer: Check) -> None:
    """A matrix product, a transposition, a diagonal, a sum, and the trace."""
    x, y = small(2, 3), small(3, 4)
    check_layer("Einsum", codes("ik,kj->ij"), [x, y], expected=[x @ y])
    check_layer("Einsum", codes("ji->ij"), [x], expected=[x.T])
    check_layer("Einsum", codes("ii->i"), [small(3, 3)], expected=[np.diag(small(3, 3))])
    check_layer("Einsum", codes("ix->i"), [x], expected=[x.sum(1)])
    check_layer("Einsum", codes("ii"), [small(3, 3)], expected=[np.array([np.trace(small(3, 3))])])


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("iij->ij", [(3, 3, 2)]),
        ("mmi->i", [(2, 2, 3)]),
        ("ii,jj->ij", [(3, 3), (2, 2)]),
        ("i,j,k,l->ijkl", [(2,), (3,), (1,), (4,)]),
        ("ik,jkl,il->ij", [(2, 3), (4, 3, 5), (2, 5)]),
        ("imnj,kmln->ijkl", [(2, 3, 4, 5), (2, 3, 6, 4)]),
        ("ijlk->ijkl", [(2, 3, 4, 5)]),
        ("ij,ij,ij->ij", [(2, 3)] * 3),
    ],
)
def test_einsum_is_that_of_numpy(
    equation: str, shapes: Sequence[tuple[int, ...]], check_layer: Check
) -> None:
    """Diagonals, outer products, several operands, several letters to sum over."""
    xs = [small(*shape) for shape in shapes]
    check_layer("Einsum", codes(equation), xs, expected=[np.einsum(equation, *xs)])


@pytest.mark.parametrize(
    "equation, shapes, message",
    [
        ("ij->ji", [(2, 3)], "right side is none of"),
        ("ij->", [(2, 3)], "right side is none of"),
        ("ij", [(2, 3)], "right side is none of"),
        ("ij,jk->ik", [(2, 3), (3, 4)], "right side is none of"),
        ("ijklm->ijklm", [(2,)], "right side is none of"),
        ("hi->i", [(2, 3)], "'h' is no letter"),
        ("iy->i", [(2, 3)], "'y' is no letter"),
        ("i ->i", [(2, 3)], "' ' is no letter"),
        ("jj->i", [(3, 3)], "'i' stands on the right side only"),
        ("ij,j->i", [(2, 3)], "2 operands, not 1"),
        ("ij,j->i", [(2, 3), (4,)], "'j' runs over 3 and 4"),
        ("ij->i", [(2, 3, 4)], r"'ij' does not name the axes of \(2, 3, 4\)"),
    ],
)
def test_refused(
    equation: str, shapes: Sequence[tuple[int, ...]], message: str, check_layer: Check
) -> None:
    """What ncnn refuses to load, and operands that do not fit the equation."""
    with pytest.raises(LayerError, match=message) as caught:
        check_layer("Einsum", codes(equation), [small(*shape) for shape in shapes])
    assert caught.value.param == "equation"
