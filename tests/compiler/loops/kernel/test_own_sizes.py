"""Kernels of open shapes get sizes of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ncc.compiler.loops.kernel.kernel import Access
from ncc.compiler.loops.kernel.own_sizes import OwnSizes
from ncc.dialects.size import Size


class Span(NamedTuple):
    start: int
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Rows:
    span: Span
    strides: dict[str, int]


def test_records_keep_their_kinds() -> None:
    """Dataclasses and named tuples, however they are nested."""
    height, width = Size.symbol("h", 8), Size.symbol("w", 9)
    sizes = OwnSizes()
    found = sizes.of(Rows(Span(height, (width, 3)), {"row": height}))
    assert sizes.values == [height, width]
    own_height, own_width = sizes.own.values()
    assert found == Rows(Span(own_height, (own_width, 3)), {"row": own_height})
    assert type(found.span) is Span


def test_arguments_have_strides_of_their_own() -> None:
    """Also if the result of one kernel has the pitch of its operand, and that of the next one not:
    both are the same code.
    """
    pitch, other = Size.symbol("p", 8), Size.symbol("q", 9)

    def of(*pitches: int) -> object:
        accesses = [Access(n, 0, (pitch, 1)) for n, pitch in enumerate(pitches)]
        return OwnSizes().of((pitch, accesses[0], tuple(accesses)))

    assert of(pitch, pitch) == of(pitch, other)


def test_an_operand_shares_the_strides_of_a_result_in_its_place() -> None:
    """Code of such a kernel tells from them that it reads what it stores."""
    pitch = Size.symbol("p", 8)
    operand, other, result = (Access(n, 0, (pitch, 1)) for n in range(3))
    found = OwnSizes({0: 2}).of((operand, other, result))
    assert found[0].coefficients == found[2].coefficients != found[1].coefficients
