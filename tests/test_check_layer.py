"""The check of one layer finds what is wrong with a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Array, Shape
from ncc.dialects.ncnn.plumbing import DropoutOp

Check = Callable[..., list[Array]]

X = np.array([1.0, -2.0, np.inf, np.nan], np.float32)


def test_a_right_layer_passes(check_layer: Check) -> None:
    """Expected values, where given, are returned; infinities and NaN equal themselves."""
    (found,) = check_layer("Dropout", {"scale": 0.5}, [X], expected=[X * 0.5])
    np.testing.assert_array_equal(found, X * 0.5)


def test_a_wrong_value_is_found(check_layer: Check) -> None:
    """The message names the element, what it is and what it should be."""
    with pytest.raises(AssertionError, match=r"is 0.5 at \[0\], not 0.75; 1 of 4 elements"):
        wrong = X * 0.5
        wrong[0] = 0.75
        check_layer("Dropout", {"scale": 0.5}, [X], expected=[wrong])


@pytest.mark.parametrize(
    "method, replacement, message",
    [
        ("infer", lambda self, x: (*x, 1), "inferred"),
        ("reference", lambda self, x: x, "the reference"),
        ("lower", lambda self, b, x: x, "the expansion"),
    ],
)
def test_each_face_of_a_layer_is_judged(
    check_layer: Check, monkeypatch: pytest.MonkeyPatch, method: str, replacement: Any, message: str
) -> None:
    """A wrong shape rule, a wrong reference and a wrong expansion are each seen alone."""
    monkeypatch.setattr(DropoutOp, method, replacement)
    with pytest.raises(AssertionError, match=message):
        check_layer("Dropout", {"scale": 0.5}, [X[:2]], expected=[X[:2] * 0.5])


def test_the_expansion_is_judged_by_the_reference(
    check_layer: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without expected values the two meanings of a layer must agree."""

    def half(self: DropoutOp, b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, x[at] * 0.25)

    check_layer("Dropout", {"scale": 0.5}, [X])
    monkeypatch.setattr(DropoutOp, "lower", half)
    with pytest.raises(AssertionError, match="the expansion"):
        check_layer("Dropout", {"scale": 0.5}, [X])


@pytest.mark.layer("Dropout", without=["extra"])
def test_recorded_cases_come_one_by_one(case: Any, check_layer: Check) -> None:
    """The marker hands out the recorded cases of a type, without those of a tag."""
    assert case.type == "Dropout" and "extra" not in case.tags
    shapes: list[Shape] = [array.shape for array in check_layer(case)]
    assert shapes == [array.shape for array in case.outputs]
