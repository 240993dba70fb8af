"""What becomes of weights by Winograd's forms."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.convolutions.forms import F2, F4, F4_5, FORMS, ONE, Form
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.weights.derived import Blocked, Transformed
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import ConstantOp, WeightAttr
from tests.compiler.linalg.convolutions.layers import block
from tests.compiler.linalg.convolutions.tiled import check_numbers


@pytest.mark.parametrize(
    "form", FORMS, ids=lambda form: f"{form.tile} of {form.taps} by {form.stride}"
)
def test_transformed_weights(form: Form) -> None:
    """U is G w G^T for each pair of channels, with the window's axes in front."""
    plain = Weights((3, 2, form.taps, form.taps), Random(1, 2))
    g = np.array(form.filter)
    expected = np.einsum("ak,bl,oikl->aboi", g, g, plain.array().astype(np.float64))
    held = Transformed(plain, form.filter, form.filter).weights
    assert held.shape == (form.window, form.window, 3, 2)
    np.testing.assert_allclose(held.array(), expected, rtol=1e-6)


def test_transformed_along_one_axis() -> None:
    """A window that is a row, or a column, has the components of a form along it."""
    g = np.array(F4_5.filter)
    for window, forms in (((1, 5), (ONE, F4_5)), ((5, 1), (F4_5, ONE))):
        plain = Weights((3, 2, *window), Random(1, 2))
        held = Transformed(plain, forms[0].filter, forms[1].filter).weights
        assert held.shape == (*(8 if n > 1 else 1 for n in window), 3, 2)
        expected = np.einsum("ak,oik->aoi", g, plain.array().reshape(3, 2, 5).astype(np.float64))
        np.testing.assert_allclose(held.array().reshape(8, 3, 2), expected, rtol=1e-6)


def test_transformed_weights_are_text() -> None:
    """A module with them prints and parses, numbers unchanged."""
    context = Context()
    context.load_dialect(NCNN)
    plain = Weights((4, 2, 3, 3), Random(1, 2))
    for down, across in ((F4, F4), (F2, F4)):
        made = Transformed(plain, down.filter, across.filter).weights
        held = Blocked(made, (3, 2), 16).weights
        attribute = WeightAttr(held)
        assert Parser(context, str(attribute)).parse_attribute() == attribute


@pytest.mark.parametrize("form", [F2, F4], ids=["F2", "F4"])
def test_weights_left_to_the_run(make_network: Callable[..., ModuleOp], form: Form) -> None:
    """The sum over channels transforms them: the same numbers, by weights as in the file."""
    module = make_network([(16, 9, 10)], block)
    check_numbers(module, [(16, 9, 10)], form, rows=None, formed=True)
    held = [op.results[0] for op in network_of(module).body.block.ops if isinstance(op, ConstantOp)]
    assert max(prod(shape_of(value)) for value in held) == 16 * 16 * 3 * 3
