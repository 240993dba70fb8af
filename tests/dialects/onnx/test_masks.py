"""Trilu, EyeLike, Hardmax, ReverseSequence, NonZero."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from tests.onnx.models import check_operator

X = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def test_triangles() -> None:
    """Upper and lower ones, moved."""
    check_operator("Trilu", {}, [X], expected=[np.triu(X)])
    moved = {1: np.array(-1)}
    check_operator("Trilu", {"upper": 0}, [X], constants=moved, expected=[np.tril(X, -1)])


def test_diagonals() -> None:
    """In another type."""
    check_operator("EyeLike", {"k": 1, "dtype": 7}, [X], expected=[np.eye(3, 4, 1, np.int64)])


def test_the_first_of_the_largest() -> None:
    """Infinities are numbers."""
    x = np.array([[1, 3, 3], [np.inf, 2, np.inf]], np.float32)
    wanted = np.array([[0, 1, 0], [1, 0, 0]], np.float32)
    check_operator("Hardmax", {}, [x], expected=[wanted])


def test_turned_round() -> None:
    """As many elements of each sample as its length says."""
    wanted = X.copy()
    wanted[0, :3], wanted[2] = X[0, 2::-1], X[2, ::-1]
    attributes = {"batch_axis": 0, "time_axis": 1}
    lengths = np.array([3, 1, 4])
    check_operator("ReverseSequence", attributes, [X, lengths], expected=[wanted])


def test_places_that_are_not_zero() -> None:
    """Only the run knows how many there are."""
    x = np.array([[0, 2], [3, 0]], np.float32)
    with pytest.raises(Unsupported, match="NonZero"):
        check_operator("NonZero", {}, [x])
