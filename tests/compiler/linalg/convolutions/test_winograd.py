"""The matrices of Winograd's forms, and what becomes of weights by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ncc.compiler.linalg.convolutions import convolution
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.convolutions.winograd import F2, F4, FORMS, Form
from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.view import shape_of
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.sources import Random, Weights
from ncc.dialects.weight import ConstantOp, WeightAttr
from tests.compiler.linalg.convolutions.test_convolve import block, check_numbers

ALL = pytest.mark.parametrize(
    "form", FORMS, ids=lambda form: f"{form.tile} of {form.taps} by {form.stride}"
)


@ALL
def test_matrices(form: Form) -> None:
    """A (G w * B x) is the correlation of x and w, for all of them that are one somewhere."""
    for tap, cell in np.ndindex(form.taps, form.window):
        w, x = np.eye(form.taps)[tap], np.eye(form.window)[cell]
        product = (np.array(form.filter) @ w) * (np.array(form.input) @ x)
        found = np.array(form.output) @ product
        expected = np.correlate(x, w)[:: form.stride]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("taps", "tile", "components"), [(3, 2, 5), (3, 3, 7), (3, 4, 9), (5, 2, 7), (5, 4, 11)]
)
def test_components_at_stride_2(taps: int, tile: int, components: int) -> None:
    """F(m, r) takes m + r - 1 multiplications, and so much F(m, r - 1) beside it."""
    (form,) = (f for f in FORMS if (f.taps, f.tile, f.stride) == (taps, tile, 2))
    assert len(form.input) == len(form.filter) == len(form.output[0]) == form.window == components


@ALL
def test_rounding(form: Form) -> None:
    """In float32 all forms stay within 1e-5 of the largest result where 64 channels are summed."""
    draw = np.random.default_rng(3)
    x = draw.standard_normal((64, 100, form.window, form.window)).astype(np.float32)
    w = (draw.standard_normal((64, form.taps, form.taps)) / form.taps / 8).astype(np.float32)
    places = form.stride * np.arange(form.tile)[:, None] + np.arange(form.taps)
    windows = x[:, :, places[:, None, :, None], places[None, :, None, :]]
    want = np.einsum("inpqkl,ikl->npq", windows.astype(np.float64), w.astype(np.float64))
    b, g, a = (np.array(m, np.float32) for m in (form.input, form.filter, form.output))
    products = (b @ x @ b.T) * (g @ w @ g.T)[:, None]
    got = a @ np.sum(products, axis=0) @ a.T
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@ALL
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


@pytest.mark.parametrize("form", [F2, F4], ids=["F2", "F4"])
def test_weights_left_to_the_run(
    make_network: Callable[..., ModuleOp], monkeypatch: pytest.MonkeyPatch, form: Form
) -> None:
    """The sum over channels transforms them: the same numbers, by weights as in the file."""

    def tiling_of(*sizes: Any, taps: int, stride: int) -> Tiling:
        return replace(Tiling(form, *sizes), formed=True)

    monkeypatch.setattr(convolution, "tiling_of", tiling_of)
    module = make_network([(16, 9, 10)], block)
    check_numbers(module, [(16, 9, 10)])
    held = [op.results[0] for op in network_of(module).body.block.ops if isinstance(op, ConstantOp)]
    assert max(prod(shape_of(value)) for value in held) == 16 * 16 * 3 * 3
