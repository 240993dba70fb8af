"""ArgMax: where the largest values of a blob are."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32, i32

from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.detection.suppression import Sorter
from ncc.dialects.ncnn.layer import Array, Builder, Layer, LayerError, Shape, Tensor, integer, layer
from ncc.dialects.scalar import convert, equal, number_of_index, number_of_size, select
from ncc.dialects.size import is_open
from ncc.dialects.statements import Code

MOST_PASSES = 4
"""Up to so many values are searched one by one; more are sorted."""

CHANNEL_ALIGNMENT = 4
"""A channel of three or four axes begins at a multiple of so many values in ncnn's memory."""

NOTHING = float("-inf")


@layer("ArgMax")
class ArgMaxOp(Layer):
    """The places of the topk largest of all values, the largest first, as a row (1, topk).

    With out_max_val there are two rows: the values, then the places. Of equal values the one that
    stands last comes first. Places count as ncnn's memory does, whose channels have gaps behind
    them where they are no multiple of four values (ncnn ranks what is in the gaps, too).
    """

    out_max_val = integer(0)
    topk = integer(1, 1)

    def check(self) -> None:
        check_positive(self, ["topk"])

    def infer(self, x: Shape) -> Shape:
        if self.topk > prod(x):
            raise LayerError(f"topk is {self.topk}, but {x} has {prod(x)} values", "topk")
        return (2 if self.out_max_val else 1, self.topk)

    def tables(self, x: Shape) -> int:
        return 0 if is_open(*x) else prod(x)

    def reference(self, x: Array) -> Array:
        flat = x.reshape(-1)
        order = len(flat) - 1 - np.argsort(-flat[::-1], kind="stable")[: self.topk]
        found = places_of(x.shape)[order]
        return np.stack([flat[order], found] if self.out_max_val else [found])

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        places = _places_of_run(b, x.shape) if is_open(*x.shape) else b.table(places_of(x.shape))
        flat = b.reshape(x, (prod(x.shape),))
        if self.topk > MOST_PASSES:
            return self._expand_sorted(b, flat, places)
        values: list[Tensor] = []
        found: list[Tensor] = []
        for _ in range(self.topk):
            value, place = _next_largest(b, flat, places, *values[-1:], *found[-1:])
            values.append(value)
            found.append(place)
        rows = [*values, *found] if self.out_max_val else found
        return b.reshape(b.concat(rows, 0), self.infer(x.shape))

    def _expand_sorted(self, b: Builder, x: Tensor, places: Tensor) -> Tensor:
        """All values sorted; the last ones first, so that of equal ones they stay in front."""
        n = x.shape[0]
        code = Code([x, places], [(self.infer(x.shape), f32)])
        backwards = code.scratch((n,))
        with code.range(n) as i:
            backwards[i] = code.inputs[0][-1 * i + (n - 1)]
        sorter = Sorter(code, n)
        sorter.sort(backwards, code.variable(n).value)
        with code.range(self.topk) as i:
            place = -1 * sorter.order[i] + (n - 1)
            if self.out_max_val:
                code.results[0][0, i] = code.inputs[0][place]
            code.results[0][1 if self.out_max_val else 0, i] = code.inputs[1][place]
        return b.code(code.operation())[0]


def places_of(shape: Shape) -> NDArray[np.float32]:
    """The place of each value in ncnn's memory, in order."""
    rank = len(shape)
    if rank < 3:
        return np.arange(prod(shape), dtype=np.float32)
    size = prod(shape[1:])
    step = -(-size // CHANNEL_ALIGNMENT) * CHANNEL_ALIGNMENT
    return np.add.outer(np.arange(shape[0]) * step, np.arange(size)).reshape(-1).astype(np.float32)


def _places_of_run(b: Builder, shape: Shape) -> Tensor:
    """The same where the run knows the shape."""
    rows, size = (1, prod(shape)) if len(shape) < 3 else (shape[0], prod(shape[1:]))
    step = number_of_size(-(-size // CHANNEL_ALIGNMENT) * CHANNEL_ALIGNMENT, i32)
    row, place = b.loops_of((rows, size))
    first = number_of_index(b.index(row), i32) * step
    places = b.map((row, place), convert(first + number_of_index(b.index(place), i32), f32))
    return b.reshape(places, (prod(shape),))


def _next_largest(
    b: Builder, x: Tensor, places: Tensor, value: Tensor | None = None, place: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The largest value and its place; of those that come behind `value` at `place`, if given."""
    (i,) = b.loops_of(x.shape)
    rest = candidate = x[i]
    if value is not None and place is not None:
        behind = select(places[i] < place[0], x[i], NOTHING)
        same = select(equal(x[i], value[0]), behind, NOTHING)
        candidate = select(x[i] < value[0], rest, same)
    largest = b.max((), over=(i,), of=candidate)
    (i,) = b.loops_of(x.shape)
    found = select(equal(x[i], largest[0]), places[i], -1.0)
    if value is not None and place is not None:
        taken = select(places[i] < place[0], found, -1.0)
        found = select(x[i] < value[0], found, taken)
    return largest, b.max((), over=(i,), of=found)
