"""What expressions of extents are never below."""

from __future__ import annotations

from itertools import product

import pytest

from ncc.dialects.size import Size, form_of, largest, smallest
from ncc.dialects.size_form import least

H, W = Size.symbol("h", 8, 2, 20), Size.symbol("w", 8, 3, 9)
FREE = Size.symbol("free", 8)


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (H - W, -7),
        (20 - (H + 1) // 2, 10),
        (100 - H * W, -80),
        (W - smallest(H, W), -6),
        (largest(H, W) - 3, 0),
        (30 - largest(H, W), 10),
        (30 - largest(H, W + FREE), None),
        (9 - smallest(FREE, W), 0),
        (5 - FREE // 2, None),
        ((H - 30) // 4, -7),
    ],
)
def test_ranges_bound_an_expression(size: int, wanted: int | None) -> None:
    """From below, if there is a limit; the bound holds for all extents."""
    form = form_of(size)
    found = least(form)
    assert found == wanted
    if found is not None:
        extents = product(range(2, 21), range(3, 10), (1, 2, 50))
        values = [form.value({"h": h, "w": w, "free": free}) for h, w, free in extents]
        assert min(values) >= found
