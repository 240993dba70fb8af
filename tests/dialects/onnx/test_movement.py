"""Operators that move elements."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from tests.onnx.models import check_operator

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_reshape_keeps_and_fills_extents() -> None:
    """0 keeps an extent, -1 is what remains."""
    check_operator(
        "Reshape", {}, [X], constants={1: np.array([0, -1])}, expected=[X.reshape(2, 12)]
    )


def test_reshape_to_another_number_of_elements_is_refused() -> None:
    """The elements have to be as many."""
    with pytest.raises(ModelError, match="2x3x4 cannot become 5x5"):
        check_operator("Reshape", {}, [X], constants={1: np.array([5, 5])})


@pytest.mark.parametrize("perm", [(2, 0, 1), (0, 2, 1), None])
def test_transpose(perm: tuple[int, ...] | None) -> None:
    """By default the axes are reversed."""
    attributes = {} if perm is None else {"perm": perm}
    check_operator("Transpose", attributes, [X], expected=[X.transpose(perm)])


def test_concat_of_a_negative_axis() -> None:
    """The axis may count from the back."""
    y = np.concatenate([X, X], 1)
    check_operator("Concat", {"axis": -2}, [X, X], expected=[y])


def test_squeeze_and_unsqueeze_of_older_op_sets() -> None:
    """Axes are attributes there."""
    column = X.reshape(24, 1)
    check_operator("Squeeze", {"axes": [1]}, [column], expected=[X.reshape(24)], opset=11)
    check_operator("Unsqueeze", {"axes": [0, -1]}, [X], expected=[X[None, ..., None]], opset=11)


def test_flatten_from_an_axis() -> None:
    """A matrix of the axes before it and those behind."""
    check_operator("Flatten", {"axis": -1}, [X], expected=[X.reshape(6, 4)])


def test_blocks_of_channels_and_of_pixels() -> None:
    """One is the inverse of the other."""
    x = np.arange(64, dtype=np.float32).reshape(1, 8, 2, 4)
    wide = x.reshape(1, 2, 2, 2, 2, 4).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 8)
    check_operator("DepthToSpace", {"blocksize": 2}, [x], expected=[wide])
    check_operator("SpaceToDepth", {"blocksize": 2}, [wide], expected=[x])


def test_dropout_drops_nothing() -> None:
    """In no op set; the mask holds everywhere."""
    mask = np.ones(X.shape, np.bool_)
    check_operator("Dropout", {}, [X], expected=[X, mask], outputs=2)
    check_operator("Dropout", {"ratio": 0.2}, [X], expected=[X], opset=11)
