"""How large extents may be for numbers of 64 bits."""

from __future__ import annotations

from itertools import product

import pytest

from ncc.compiler.library.limits import MOST, bounds_of, limits
from ncc.runtime.arena import Lifetimes
from ncc.runtime.artifact import Artifact, Binding
from ncc.runtime.errors import InputError
from ncc.runtime.program import OPERATIONS, Extent, Program
from ncc.runtime.sizes import Sizes

PLACES = {name: place for place, name in enumerate(OPERATIONS)}


def image(least: int = 1, most: int | None = None, bytes: int = 4) -> Artifact:
    """A network for images whose arena has one part, of so many bytes for each pixel."""
    extents = Extent(0, 0, "h"), Extent(0, 1, "w")
    program = Program(extents, (bytes,), (PLACES["*"], 0, 1, PLACES["*"], 2, 3))
    sizes = Sizes(program, (), ((),), (4,), Lifetimes(((0, 0),)), ())
    taken = Binding("x", (-1, -1), "uint8", ranges=((1, None), (least, most)))
    return Artifact((b"code",), b"", 0, (taken,), (Binding("y", ()),), sizes=sizes)


def test_the_limit_is_a_power_of_two() -> None:
    """The largest one with which all numbers fit; a range that ends below it stays."""
    assert limits(image(bytes=4)) == {(0, 0): (1, 1 << 29), (0, 1): (1, 1 << 29)}
    assert limits(image(bytes=1 << 40)) == {(0, 0): (1, 1 << 11), (0, 1): (1, 1 << 11)}
    assert limits(image(3, 100)) == {(0, 0): (1, 1 << 31), (0, 1): (3, 100)}


def test_a_range_that_begins_too_high() -> None:
    """No size in it can be computed."""
    with pytest.raises(InputError, match="64 bits"):
        limits(image(1 << 20, bytes=1 << 50))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_bounds_hold(operation: str) -> None:
    """For all numbers in all ranges, negative ones and 0 among them."""
    program = Program((Extent(0, 0, "a"), Extent(0, 1, "b")), (), (PLACES[operation], 0, 1))
    numbers = range(-4, 5)
    ranges = [(low, high) for low, high in product(numbers, repeat=2) if low <= high]
    for a, b in product(ranges, repeat=2):
        *_, (least, most) = bounds_of(program, {(0, 0): a, (0, 1): b})
        found = [
            OPERATIONS[operation](x, y)
            for x in range(a[0], a[1] + 1)
            for y in range(b[0], b[1] + 1)
        ]
        assert -MOST <= least <= min(found) and max(found) <= most <= MOST
