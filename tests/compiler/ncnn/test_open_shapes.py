"""Shapes that are asked for, before anything is inferred."""

from __future__ import annotations

import pytest

from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.dialects.shapes import OpenShape
from ncc.runtime.errors import InputError
from tests.compiler.ncnn.conftest import Net

LINES = """
    Input data 0 1 data 0=10
    ReLU  relu 1 1 data out
"""


@pytest.mark.parametrize("shape", [(3, None, 0), (0, None), (None, -1), (), (None,) * 5])
def test_a_shape_that_no_input_has_is_refused_before_a_call(net: Net, shape: OpenShape) -> None:
    """Though another extent is open."""
    with pytest.raises(InputError, match="the shape of input 'data' cannot be"):
        open_shapes(net(LINES, shapes=False), {"data": shape})


def test_what_is_asked_for_overrides_the_file(net: Net) -> None:
    """An extent that nobody says is None."""
    module = net(LINES, shapes=False)
    assert open_shapes(module) == {"data": (10,)}
    assert open_shapes(module, {"data": (None, 4)}) == {"data": (None, 4)}
