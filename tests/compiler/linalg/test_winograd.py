"""The matrices of Winograd's forms, and what becomes of weights by them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.parser import Parser

from ncc.compiler.linalg.winograd import F2, F2_5, F4, Form
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.sources import Random, Weights
from ncc.dialects.weight import WeightAttr

FORMS = pytest.mark.parametrize("form", [F2, F4, F2_5], ids=["F2", "F4", "F2_5"])


@FORMS
def test_matrices(form: Form) -> None:
    """A (G w * B x) is the correlation of x and w, for all of them that are one somewhere."""
    for tap, cell in np.ndindex(form.taps, form.window):
        w, x = np.eye(form.taps)[tap], np.eye(form.window)[cell]
        product = (np.array(form.filter) @ w) * (np.array(form.input) @ x)
        found = np.array(form.output) @ product
        np.testing.assert_allclose(found, np.correlate(x, w), rtol=0, atol=1e-15)


@FORMS
def test_transformed_weights(form: Form) -> None:
    """U is G w G^T for each pair of channels, with the window's axes in front."""
    plain = Weights((3, 2, form.taps, form.taps), Random(1, 2))
    g = np.array(form.filter)
    expected = np.einsum("ak,bl,oikl->aboi", g, g, plain.array().astype(np.float64))
    held = plain.transformed(form.filter)
    assert held.shape == (form.window, form.window, 3, 2)
    np.testing.assert_allclose(held.array(), expected, rtol=1e-6)


def test_transformed_weights_are_text() -> None:
    """A module with them prints and parses, numbers unchanged."""
    context = Context()
    context.load_dialect(NCNN)
    plain = Weights((4, 2, 3, 3), Random(1, 2))
    attribute = WeightAttr(plain.transformed(F4.filter).blocked((3, 2), 16))
    assert Parser(context, str(attribute)).parse_attribute() == attribute
