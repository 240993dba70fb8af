"""The matrices of Winograd's forms: right, and fine enough."""

from __future__ import annotations

from math import copysign
from typing import Any

import numpy as np
import pytest

from ncc.compiler.linalg.convolutions.forms import (
    F4_4,
    F4_5,
    F6,
    FORMS,
    ONE,
    Form,
    Plane,
    form_of,
    forms_of,
    lengthened,
)


def name_of(form: Form) -> str:
    return f"{form.tile} of {form.taps} by {form.stride}"


ALL = pytest.mark.parametrize("form", FORMS, ids=name_of)
LONG = [lengthened(form, taps) for form in (F4_4, F4_5) for taps in (6, 7, 8, 9, 11, 13)]
ALONG_ONE_AXIS = pytest.mark.parametrize("form", [*FORMS, F6, F4_4, *LONG], ids=name_of)


def by_parts(form: Form, x: np.ndarray[Any, Any], dtype: type) -> np.ndarray[Any, Any]:
    """V of the first tile of x, and of the later tiles that its result reads."""
    index = form.step * np.arange(form.parts)[:, None] + np.arange(form.window)
    v: np.ndarray[Any, Any] = np.einsum(
        "ak,...nk->...na", np.array(form.input, dtype), x[..., index]
    )
    return v


def test_a_form_of_the_literature() -> None:
    """F(2, 3) is that of Lavin & Gray, by the points 0, 1 and -1."""
    form = form_of(2, 3)
    assert form.input == ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, -1, 0, 1))
    assert form.filter == ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1))
    assert form.output == ((1, 1, 1, 0), (0, 1, -1, 1))


@ALONG_ONE_AXIS
def test_no_zero_has_a_sign(form: Form) -> None:
    """Kernels are kept by the texts of their matrices, where -0.0 is another number than 0.0."""
    rows = (*form.input, *form.filter, *form.output)
    assert all(copysign(1.0, number) > 0 for row in rows for number in row if number == 0.0)


@ALONG_ONE_AXIS
def test_matrices(form: Form) -> None:
    """A (G w * B x), summed over parts, is the correlation of x and w, for all of them that are one
    somewhere.
    """
    read = Plane((ONE, form)).overlap[1] + form.step
    reach = form.stride * (form.tile - 1) + form.taps
    assert read >= reach
    for tap, cell in np.ndindex(form.taps, read):
        w, x = np.eye(form.taps)[tap], np.eye(read)[cell]
        u = (np.array(form.filter) @ w).reshape(form.parts, form.window)
        product = np.sum(u * by_parts(form, x, np.float64), axis=0)
        found = np.array(form.output) @ product
        expected = np.correlate(x[:reach], w)[:: form.stride]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("form", "taps", "parts"),
    [(F4_4, 5, 2), (F4_4, 7, 2), (F4_4, 8, 2), (F4_4, 9, 3), (F4_5, 9, 2), (F4_5, 13, 3)],
)
def test_parts_of_a_long_window(form: Form, taps: int, parts: int) -> None:
    """As few as cover it, with as many taps as a tile has elements; the last may have more."""
    longer = lengthened(form, taps)
    assert (longer.taps, longer.parts, longer.window) == (taps, parts, form.window)
    assert (longer.tile, longer.step) == (form.tile, form.step)


def test_forms_by_the_window() -> None:
    """Squares have other forms than rows and columns, which may have more points, and parts."""
    tiles = {
        taps: [(form.tile, form.parts) for form in forms_of(taps, 1, (False, True))]
        for taps in (1, 3, 4, 5, 7, 9)
    }
    assert tiles == {
        1: [],
        3: [(2, 1), (4, 1), (6, 1)],
        4: [(4, 1)],
        5: [(2, 1), (4, 1), (4, 2)],
        7: [(4, 2), (4, 2)],
        9: [(4, 3), (4, 2)],
    }
    assert forms_of(7, 1) == [] and forms_of(7, 2, (True, False)) == []
    assert forms_of(3, 2, (True, False)) == forms_of(3, 2)


@pytest.mark.parametrize(
    ("taps", "tile", "components"), [(3, 2, 5), (3, 3, 7), (3, 4, 9), (5, 2, 7), (5, 4, 11)]
)
def test_components_at_stride_2(taps: int, tile: int, components: int) -> None:
    """F(m, r) takes m + r - 1 multiplications, and F(m, r - 1) one less."""
    (form,) = (f for f in FORMS if (f.taps, f.tile, f.stride) == (taps, tile, 2))
    assert len(form.input) == len(form.filter) == len(form.output[0]) == form.window == components


@ALL
def test_rounding(form: Form) -> None:
    """In float32 all forms stay within 1e-5 of the largest result where 64 channels are summed."""
    draw = np.random.default_rng(3)
    x = draw.standard_normal((64, 100, form.window, form.window)).astype(np.float32)
    w = (draw.standard_normal((64, form.taps, form.taps)) / form.taps / 8).astype(np.float32)
    index = form.stride * np.arange(form.tile)[:, None] + np.arange(form.taps)
    windows = x[:, :, index[:, None, :, None], index[None, :, None, :]]
    want = np.einsum("inpqkl,ikl->npq", windows.astype(np.float64), w.astype(np.float64))
    b, g, a = (np.array(m, np.float32) for m in (form.input, form.filter, form.output))
    products = (b @ x @ b.T) * (g @ w @ g.T)[:, None]
    got = a @ np.sum(products, axis=0) @ a.T
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@ALONG_ONE_AXIS
@pytest.mark.parametrize("data", ["normal", "positive", "spikes", "offset", "turns"])
def test_rounding_along_one_axis(form: Form, data: str) -> None:
    """Forms of more points stay within 1e-5, too, even if single values are a thousand times as
    large, on top of an offset, and where signs alternate.
    """
    draw = np.random.default_rng(5)
    read = Plane((ONE, form)).overlap[1] + form.step
    x = draw.standard_normal((64, 200, read))
    match data:
        case "positive":
            x = np.maximum(x, 0)
        case "spikes":
            x = np.where(draw.random(x.shape) < 0.02, 1000 * x, x)
        case "offset":
            x += 5
        case "turns":
            x = 0.1 * x + 5 * (-1.0) ** np.arange(read)
    x = x.astype(np.float32)
    w = draw.standard_normal((64, form.taps)).astype(np.float32)
    index = form.stride * np.arange(form.tile)[:, None] + np.arange(form.taps)
    want = np.einsum("ntrk,nk->tr", x[..., index].astype(np.float64), w.astype(np.float64))
    u = (np.array(form.filter) @ w.T.astype(np.float64)).astype(np.float32)
    v = by_parts(form, x, np.float32)
    parts = u.reshape(form.parts, form.window, 64)
    products = np.einsum("ntpa,pan->ta", v, parts)
    got = products @ np.array(form.output, np.float32).T
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())
