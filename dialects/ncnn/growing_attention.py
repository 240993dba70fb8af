"""Attention over caches that grow from run to run, as loops whose bounds the run tells.

A cache is (heads, past, features) in memory, `past` what the run counts; what it grows to is
(heads, past + keys, features). The loops see both as rows of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32

from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.growing import Growing
from ncc.dialects.imperative import Code, Memory, Operand, Value

BLOCK = 64
"""Keys that are asked at a time."""

TOGETHER = 4
"""Keys whose values are added while the sum is at hand."""

LARGEST = 3.4028234663852886e38


def grown(b: Builder, cache: Tensor, rows: Tensor) -> Tensor:
    """The rows of a cache that grows, then those of this run, (heads, rows, features)."""
    heads, new, features = rows.shape
    past = cache.shape[1]
    code = Code([_row(cache), rows, b.counters], [((DYNAMIC_INDEX,), f32)], turns=heads)
    held, added, counters = code.inputs
    size = _counted(counters, past) * features
    here, there = code.turn * size, code.turn * (size + new * features)
    with code.lanes(size) as i:
        code.results[0][there + i] = held[here + i]
    with code.range(new) as row, code.lanes(features) as i:
        code.results[0][there + size + row * features + i] = added[code.turn, row, i]
    (made,) = b.code(code.operation())
    return Tensor(made.value, (heads, past + new, features))


def attended_growing(
    b: Builder,
    q: Tensor,
    past: tuple[Tensor, Tensor],
    new: tuple[Tensor, Tensor],
    mask: Tensor | None,
    scale: float = 1.0,
) -> Tensor:
    """softmax(scale * q k^T + mask) v of each head, (heads, rows, features).

    Keys and values are those of the caches `past`, then those of `new`, (heads, rows, features);
    heads of the query that are a multiple of theirs share them in their order.
    """
    heads, rows, _ = q.shape
    operands = [q, *map(_row, past), *new, b.counters, *([] if mask is None else [_row(mask)])]
    shape = (heads, rows, new[1].shape[2])
    code = Code(operands, [(shape, f32)], turns=heads * rows)
    _Attention(code, heads, mask, past[0].shape[1], scale).write()
    return b.code(code.operation())[0]


def _row(x: Tensor) -> Tensor:
    """What grows, as its elements in numpy's order."""
    return Tensor(x.value, (DYNAMIC_INDEX,))


def _counted(counters: Memory, extent: int) -> Value:
    """An extent in this run."""
    assert isinstance(extent, Growing)
    return counters[extent.counter] + int(extent)


Cell: TypeAlias = Callable[[Value, Value], Value]
"""A feature of a row of keys or values, by their numbers."""


class _Attention:
    """One row of one head of the query, asking blocks of keys.

    Kept are the largest score so far, the sum of exp(score - largest), and the values mixed by
    these powers: where a block has a larger score, what was summed before is scaled down.
    """

    def __init__(
        self, code: Code, heads: int, mask: Tensor | None, past: int, scale: float
    ) -> None:
        q, *_, keys, values, counters = code.inputs[:6]
        rows, self.features = q.shape[1:]
        self.code = code
        self.mask = None if mask is None else code.inputs[6]
        self.past = _counted(counters, past)
        self.head, self.row = code.turn // rows, code.turn % rows
        self.group = self.head // (heads // keys.shape[0])
        self.asked = code.scratch((self.features,))
        with code.lanes(self.features) as e:
            self.asked[e] = q[self.head, self.row, e] * scale
        self.scores = code.scratch((BLOCK,))
        self.mixed = code.scratch((values.shape[2],))
        with code.lanes(values.shape[2]) as e:
            self.mixed[e] = 0.0
        self.largest, self.total = code.variable(-LARGEST), code.variable(0.0)
        # Where the scores of this row begin in the mask.
        self.shown = self.row * (self.past + keys.shape[1])
        if mask is not None and len(mask.shape) == 3 and mask.shape[0] > 1:
            self.shown = (self.head * rows + self.row) * (self.past + keys.shape[1])

    def write(self) -> None:
        """Past keys, then new ones; the mixed values over the sum."""
        code = self.code
        _, past_keys, past_values, keys, values, _ = code.inputs[:6]
        group, past = self.group, self.past
        self._ask(
            past,
            0,
            *(
                _cell_of_row(x, group * past, n)
                for x, n in ((past_keys, keys.shape[2]), (past_values, values.shape[2]))
            ),
        )
        self._ask(
            keys.shape[1], past, lambda j, e: keys[group, j, e], lambda j, e: values[group, j, e]
        )
        total = self.total.value
        with code.lanes(values.shape[2]) as e:
            code.results[0][self.head, self.row, e] = self.mixed[e] / total

    def _ask(self, count: Operand, before: Operand, key: Cell, value: Cell) -> None:
        """`count` keys, behind `before` other ones, block by block."""
        code = self.code
        start = code.variable(0)
        with code.while_(lambda: start.value < count):
            first = start.value
            size = code.minimum(count - first, BLOCK)
            with code.range(size) as j:
                at = first + j
                score = code.sum(self.features, lambda e: self.asked[e] * key(at, e))
                if self.mask is not None:
                    score = score + self.mask[self.shown + before + at]
                self.scores[j] = score
            self._mix(first, size, value)
            start.value = first + BLOCK

    def _mix(self, first: Value, size: Value, value: Cell) -> None:
        """Add the values of a block whose scores are known."""
        code, scores, mixed = self.code, self.scores, self.mixed
        (features,) = mixed.shape
        before = self.largest.value
        largest = code.largest(size, lambda j: scores[j], initial=before)
        self.largest.value = largest
        with code.lanes(size) as j:
            scores[j] = code.exp(scores[j] - largest)
        rescale = code.exp(before - largest)
        self.total.value = code.sum(size, lambda j: scores[j], initial=self.total.value * rescale)
        with code.lanes(features) as e:
            mixed[e] = mixed[e] * rescale
        whole = size // TOGETHER
        with code.range(whole) as group:
            self._add(group * TOGETHER, TOGETHER, first, value)
        with code.range(size, whole * TOGETHER) as j:
            self._add(j, 1, first, value)

    def _add(self, start: Value, count: int, first: Value, value: Cell) -> None:
        """Add the values of a few keys of a block that begins at `first`."""
        code, mixed = self.code, self.mixed
        chances = [self.scores[start + k] for k in range(count)]
        with code.lanes(mixed.shape[0]) as e:
            total = mixed[e]
            for k, chance in enumerate(chances):
                total = code.multiply_add(chance, value(first + start + k, e), total)
            mixed[e] = total


def _cell_of_row(x: Memory, first: Value, features: int) -> Cell:
    """Cells of rows that start `first` rows into the elements of x."""
    return lambda j, e: x[(first + j) * features + e]
