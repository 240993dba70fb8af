"""Which shapes an input admits of which not all is known."""

from __future__ import annotations

import pytest

from ncc.compiler.driver.open_binding import OpenBinding, require_shapes
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError

SHAPES = [
    OpenBinding.of("x", None),
    OpenBinding.of("x", (None, None)),
    OpenBinding.of("x", (3, None)),
    OpenBinding.of("x", (3, 4)),
    OpenBinding.of("x", (3, None), ranges=((1, None), (5, 9))),
    OpenBinding.of("x", None, implied=True, is_cache=True),
]


@pytest.mark.parametrize(
    ("shape", "admitted"),
    [
        ((3, 4), "111101"),
        ((3, 5), "111011"),
        ((2, 4), "110001"),
        ((3, 4, 1), "100001"),
        ((3, 0), "000001"),
        ((), "100001"),
    ],
)
def test_an_open_shape_admits(shape: tuple[int, ...], admitted: str) -> None:
    """Any extent where it is open, those of a range, the very one where it is not open. A cache
    alone may be empty.
    """
    assert [binding.admits(shape) for binding in SHAPES] == [flag == "1" for flag in admitted]
    assert [binding.is_open for binding in SHAPES] == [True, True, True, False, True, False]


def test_open_shapes_are_asked_for_by_name() -> None:
    """Of a network and of a compiled file alike."""
    bindings = [Binding("known", (3, 4)), Binding("x", (3, -1, -1), ranges=((1, None),) * 3)]
    with pytest.raises(InputError) as caught:
        require_shapes(bindings)
    assert "'x' (3x?x?): for example by --shape x=3x224x224" in str(caught.value)
    require_shapes(bindings[:1])


def test_the_example_of_a_shape_has_a_batch_of_one() -> None:
    """Where the first extent counts samples."""
    images = OpenBinding.of("x", (None, 3, None, None), has_batch=True)
    with pytest.raises(InputError, match="--shape x=1x3x224x224"):
        require_shapes([images])
