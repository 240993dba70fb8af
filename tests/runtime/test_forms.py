"""Other forms of an array: each says the shape that it really gives."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.runtime.forms import other_forms

SHAPES = [(), (4,), (1, 4), (5, 4), (5, 4, 3), (1, 4, 3), (1, 5, 4, 3), (2, 5, 4, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_advised_has_the_shape_that_is_told(shape: tuple[int, ...]) -> None:
    """Of an array x, by doing it."""
    x = np.zeros(shape)
    for form in other_forms(shape):
        fed = eval(form.how, {"x": x}) if form.how.startswith("x") else x[0]
        assert fed.shape == form.shape


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        ((1, 3, 8, 9), "there is no batch axis, feed x[0]"),
        ((2, 3, 8, 9), "there is no batch axis, feed one after the other"),
        ((8, 9, 3), "channels come first, feed x.transpose(2, 0, 1)"),
        ((8,), "its first axis is not there, feed x[None]"),
    ],
)
def test_the_likeliest_is_the_first(shape: tuple[int, ...], first: str) -> None:
    """A batch axis of one, then channels."""
    assert str(next(other_forms(shape))) == first


def test_elements_are_of_the_type_that_is_wanted() -> None:
    """In the same expression, where it is one."""
    image, several = next(other_forms((8, 9, 3))), next(other_forms((2, 3, 8, 9)))
    assert image.typed("float32").endswith("feed x.transpose(2, 0, 1).astype('float32')")
    assert several.typed("float32").endswith("feed one after the other")
