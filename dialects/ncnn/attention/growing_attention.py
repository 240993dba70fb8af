"""Attention over caches that grow from run to run, as loops whose bounds the run knows.

A cache is (heads, past, features) in memory, where the run counts `past`; the cache that it returns
is (heads, past + keys, features). The loops see both as one axis of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32

from ncc.dialects.growing import Growing
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import LEAST
from ncc.dialects.statements import Code, MemoryView, Operand, Value, index

BLOCK = 64
"""Keys whose scores are computed together."""

ROWS = 4
"""Rows of a query that are computed together, so that keys and values are read once for all."""

TOGETHER = 4
"""Terms that are added up before they are added to a sum in memory."""

MANY = 16
"""The fewest new keys that are transposed: then scores are vectors, not sums over lanes."""


def grown(b: Builder, cache: Tensor, rows: Tensor) -> Tensor:
    """The rows of a growing cache, then those of this run, (heads, rows, features)."""
    heads, new, features = rows.shape
    past = cache.shape[1]
    code = Code([_row(cache), rows, b.counters], [((DYNAMIC_INDEX,), f32)], iterations=heads)
    held, added, counters = code.inputs
    size = _counted(counters, past) * features
    here, there = code.iteration * size, code.iteration * (size + new * features)
    with code.lanes(size) as i:
        code.results[0][there + i] = held[here + i]
    with code.range(new) as row, code.lanes(features) as i:
        code.results[0][there + size + row * features + i] = added[code.iteration, row, i]
    (made,) = b.code(code.operation())
    return Tensor(made.value, (heads, past + new, features))


def attended_growing(
    b: Builder,
    q: Tensor,
    past: tuple[Tensor, Tensor],
    new: tuple[Tensor, Tensor],
    mask: Tensor | None,
    scale: float = 1.0,
    *,
    zeros: bool = False,
) -> Tensor:
    """softmax(scale * q k^T + mask) v of each head, (heads, rows, features).

    If all scores of a row are -inf, the row is NaN, or 0 with `zeros`.

    Keys and values are those of the caches `past`, then those of `new`, (heads, rows, features).
    The query may have a multiple of their heads; consecutive heads of the query share one.
    """
    heads, rows, _ = q.shape
    groups, keys, features = new[0].shape
    if keys >= MANY:
        g, e, j = b.loops_of((groups, features, keys))
        transposed = b.map((g, e, j), new[0][g, j, e])
        new = b.pad(transposed, [0, 0, 0], [0, 0, -keys % BLOCK]), new[1]
    operands = [q, *map(_row, past), *new, b.counters, *([] if mask is None else [_row(mask)])]
    shape = (heads, rows, new[1].shape[2])
    code = Code(operands, [(shape, f32)], iterations=heads * -(-rows // ROWS))
    _Attention(code, heads, mask, past[0].shape[1], scale, zeros).write()
    return b.code(code.operation())[0]


def _row(x: Tensor) -> Tensor:
    """A growing value as one axis, in numpy's order."""
    return Tensor(x.value, (DYNAMIC_INDEX,))


def _counted(counters: MemoryView, extent: int) -> Value:
    """An extent in this run."""
    assert isinstance(extent, Growing)
    return counters[extent.counter] + int(extent)


Element: TypeAlias = Callable[[Value, Value], Value]
"""A number by two indices: a feature of a row of keys or values, or a key of a row of features."""

Score: TypeAlias = Callable[[Value, Value], None]
"""Writes the scores of some keys: the first of them, and how many."""


class _Attention:
    """A few rows of one head of the query, over keys and values block by block.

    It is an online softmax (https://arxiv.org/abs/1805.02867). For each row, with scores s of a
    block:

        m' = max(m, max s)
        l' = l exp(m - m') + sum exp(s - m')
        y' = y exp(m - m') + sum exp(s - m') v

    and y / l after the last block; l is 0 if all scores are -inf. If rows are no multiple of
    `ROWS`, the last iteration of a head begins with some rows of the iteration before, `again`,
    which it computes and does not store.
    """

    def __init__(
        self, code: Code, heads: int, mask: Tensor | None, past: int, scale: float, zeros: bool
    ) -> None:
        q, *_, values, counters = code.inputs[:6]
        rows, self.features = q.shape[1:]
        self.groups, self.keys, width = values.shape
        self.code, self.count, self.zeros = code, min(rows, ROWS), zeros
        self.mask = None if mask is None else code.inputs[6]
        self.past = _counted(counters, past)
        several = -(-rows // ROWS)
        self.head, begin = code.iteration // several, code.iteration % several * ROWS
        self.first = code.minimum(begin, rows - self.count)
        self.again = begin - self.first
        self.group = self.head // (heads // self.groups)
        self.query = code.scratch((self.count, self.features))
        self.scores = code.scratch((self.count, BLOCK))
        self.sums = code.scratch((self.count, width))
        self.largest, self.total = code.scratch((self.count,)), code.scratch((self.count,))
        with code.range(self.count) as row:
            with code.lanes(self.features) as e:
                self.query[row, e] = q[self.head, self.first + row, e] * scale
            with code.lanes(width) as e:
                self.sums[row, e] = 0.0
            self.largest[row], self.total[row] = LEAST, 0.0
        self.mask_row = self.first
        if mask is not None and len(mask.shape) == 3 and mask.shape[0] > 1:
            self.mask_row = self.head * rows + self.first

    def write(self) -> None:
        """Past keys, then new ones; then y / l."""
        code, group = self.code, self.group
        _, past_keys, past_values, keys, values, _ = code.inputs[:6]
        first, features = group * self.past, values.shape[2]
        score = self._by_rows(_element_of_row(past_keys, first, self.features))
        self._attend(self.past, 0, score, _element_of_row(past_values, first, features))
        if self.keys >= MANY:
            score = self._by_lanes(lambda e, j: keys[group, e, j])
        else:
            score = self._by_rows(lambda j, e: keys[group, j, e])
        self._attend(self.keys, self.past, score, lambda j, e: values[group, j, e])
        with code.range(self.count, self.again) as row:
            total = self.total[row]
            if self.zeros:
                total = code.divisor(total)
            with code.lanes(features) as e:
                code.results[0][self.head, self.first + row, e] = self.sums[row, e] / total

    def _attend(self, count: Operand, before: Operand, score: Score, value: Element) -> None:
        """Attend to `count` keys, after `before` other ones, block by block."""
        code, scores = self.code, self.scores
        start = code.variable(0)
        with code.while_(lambda: start.value < count):
            first = start.value
            size = code.minimum(count - first, BLOCK)
            score(first, size)
            with code.range(self.count) as row:
                if self.mask is not None:
                    place = (self.mask_row + row) * (self.past + self.keys) + before + first
                    with code.lanes(size) as j:
                        scores[row, j] = scores[row, j] + self.mask[place + j]
                self._weigh(row, size)
            self._add(self.sums, scores, size, lambda j, e: value(first + j, e))
            start.value = first + BLOCK

    def _by_rows(self, key: Element) -> Score:
        """Each score by itself, if the features of a key are contiguous."""
        code, query = self.code, self.query

        def product(row: MemoryView, at: Value) -> Value:
            return code.sum(self.features, lambda e: row[e] * key(at, e))

        def score(first: Value, size: Value) -> None:
            with code.range(size) as j:
                at = first + j
                for row in range(self.count):
                    self.scores[row, j] = product(query.part(row), at)

        return score

    def _by_lanes(self, key: Element) -> Score:
        """A block of scores at a time, if the keys of a feature are contiguous."""
        code, scores = self.code, self.scores

        def score(first: Value, size: Value) -> None:
            with code.range(self.count) as row, code.lanes(BLOCK) as j:
                scores[row, j] = 0.0
            self._add(scores, self.query, self.features, lambda e, j: key(e, first + j))

        return score

    def _weigh(self, row: Value, size: Value) -> None:
        """Compute exp(s - m') of a row of scores, and scale the sums so far, if m was smaller."""
        code, scores = self.code, self.scores.part(row)
        before = self.largest[row]
        largest = code.largest(size, lambda j: scores[j], initial=before)
        self.largest[row] = largest
        with code.lanes(size) as j:
            scores[j] = code.exp(scores[j] - largest)
        rescale = code.exp(before - largest)
        self.total[row] = code.sum(size, lambda j: scores[j], initial=self.total[row] * rescale)
        with code.lanes(self.sums.shape[1]) as e:
            self.sums[row, e] = self.sums[row, e] * rescale

    def _add(self, sums: MemoryView, factors: MemoryView, terms: Operand, element: Element) -> None:
        """sums[row, i] += the sum over t of factors[row, t] * element(t, i)."""
        code = self.code
        whole = code.value(terms, index) // TOGETHER
        with code.range(whole) as group:
            self._add_few(sums, factors, group * TOGETHER, TOGETHER, element)
        with code.range(terms, whole * TOGETHER) as t:
            self._add_few(sums, factors, t, 1, element)

    def _add_few(
        self, sums: MemoryView, factors: MemoryView, start: Value, count: int, element: Element
    ) -> None:
        """The same for a few terms, which are added up in registers first."""
        code, (rows, width) = self.code, sums.shape
        held = [[factors[row, start + k] for k in range(count)] for row in range(rows)]
        with code.lanes(width) as i:
            elements = [element(start + k, i) for k in range(count)]
            for row, mine in enumerate(held):
                total = mine[0] * elements[0]
                for factor, one in zip(mine[1:], elements[1:], strict=True):
                    total = code.multiply_add(factor, one, total)
                sums[row, i] = sums[row, i] + total


def _element_of_row(x: MemoryView, first: Value, features: int) -> Element:
    """Access to rows that begin `first` rows after the beginning of x."""
    return lambda j, e: x[(first + j) * features + e]
