"""Suggests how to feed an array that has the form of another system.

    1x3x224x224   ->   there is no batch axis: x[0] is 3x224x224
    224x224x3     ->   channels come first: x.transpose(2, 0, 1) is 3x224x224

The caller checks whether an array of the suggested shape fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Shape = tuple[int, ...]


class Form(NamedTuple):
    """One form. why: what is otherwise here. how: what to feed, of an array x. shape: what that
    has.
    """

    why: str
    how: str
    shape: Shape

    def __str__(self) -> str:
        return f"{self.why}, feed {self.how}"

    def typed(self, dtype: str) -> str:
        """The same, with other elements."""
        return f"{self}.astype({dtype!r})" if self.how.startswith("x") else str(self)


def other_forms(shape: Shape) -> Iterator[Form]:
    """The forms that an array of this shape may be meant in, the likeliest first."""
    is_batch_of_one = shape[:1] == (1,)
    if is_batch_of_one:
        yield Form("there is no batch axis", "x[0]", shape[1:])
    if is_batch_of_one and len(shape) == 4:
        why = "there is no batch axis and channels come first"
        yield Form(why, "x[0].transpose(2, 0, 1)", (shape[3], *shape[1:3]))
    if len(shape) == 3:
        yield Form("channels come first", "x.transpose(2, 0, 1)", (shape[2], *shape[:2]))
    if len(shape) > 1 and not is_batch_of_one:
        yield Form("there is no batch axis", "one after the other", shape[1:])
    if shape:
        yield Form("its first axis is not there", "x[None]", (1, *shape))
