"""The loops of a kernel in normal form: as few as possible, and one for threads to share.

    for a in 1:  for b in 4:  for c in 8:  y[8 * b + c] = x[8 * b + c]
                                            ->      for d in 32:  y[d] = x[d]

Loops of extent 1 are dropped, and perfectly nested loops that walk every access like one loop are
collapsed. So kernels that differ only in these become equal. If one long loop is left, it is split,
so that threads can share it. A loop over a single block stays if the block has padding, because the
schedule names it to say which vectors are short.

Where the run tells how long a row is, a tile of products goes on from the end of a row to the next,
also if the rows of the result lie apart. So rows leave no remainders, and an image of few columns
has whole tiles:

    for r in h:  for c in w:  y[(w + 2) * r + c] += x[w * r + c] * ..
                                            ->      for d in h * w:  y[d + 2 * (d / w)] += x[d] * ..
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from ncc.compiler.cost_model import Threads
from ncc.compiler.loops.kernel.kernel import LINE, Access, Gap, Kernel, Stage
from ncc.compiler.loops.kernel.products import product_of, quads_of
from ncc.compiler.loops.kernel.vector_loops import can_be_lane, interleaved_loops
from ncc.dialects.size import is_open

WHOLE_VECTORS = 32
"""Iterations that make whole vectors on every target, and whole cache lines."""


def normalised(kernel: Kernel, costs: Threads) -> Kernel:
    """Drop loops of extent 1 and collapse neighbours that walk every access like one loop."""
    blocks = {outer for outer, _, _ in kernel.valid_extents if outer not in kernel.reduced}
    if kernel.k_split is not None:
        blocks.add(kernel.k_split.outputs)
    kept = [d for d, extent in enumerate(kernel.extents) if extent != 1 or d in blocks]
    only_block = {inner: true for outer, inner, true in kernel.valid_extents if outer not in kept}
    if len(kept) < len(kernel.extents):
        kernel = _select(kernel, kept, only_block)
    return _shared_out(_with_rows_in_line(collapsed(kernel)), costs)


def collapsed(kernel: Kernel) -> Kernel:
    """Collapse neighbours that walk every access like one loop."""
    while (pair := _joinable(kernel)) is not None:
        outer, inner = pair
        kept = [d for d in range(len(kernel.extents)) if d != outer]
        kernel = _select(kernel, kept, {inner: kernel.extents[outer] * kernel.extents[inner]})
    return kernel


def _shared_out(kernel: Kernel, costs: Threads) -> Kernel:
    """Split the loop, if there is only one parallel loop and it is long: threads share the outer
    one.

    Loops of computed coordinates do not count, since their iterations share the coordinates. Nor
    does the short loop of interleaved values.
    """
    pair = interleaved_loops(kernel) or ()
    loops = [d for d in kernel.parallel if d not in (*kernel.indexed, *pair[1:])]
    if len(loops) != 1:
        return kernel
    (loop,) = loops
    extent, about = kernel.extents[loop], costs.loop_parts
    shares = range(2 * about, about // 4, -1)
    if is_open(extent) or extent < costs.long_loop or loop in kernel.clipped:
        return kernel
    possible = [n for n in shares if extent % (n * WHOLE_VECTORS) == 0]
    if not possible and not kernel.reduced:
        fewest = costs.fewest_part_iterations
        possible = [n for n in shares if extent % n == 0 and extent // n >= fewest]
    if not possible:
        return kernel
    parts = min(possible, key=lambda n: (extent // n % LINE > 0, n % 2, abs(n - about)))

    extents = [*kernel.extents, parts]
    extents[loop] = length = extent // parts
    kernel = replace(kernel, extents=tuple(extents))
    return _with_accesses(kernel, lambda a: a.with_loops(lambda c: [*c, c[loop] * length]))


def _joinable(kernel: Kernel) -> tuple[int, int] | None:
    """Two loops, outer and inner, that every access walks like one loop.

    Both are reduced, or neither, since the store does not move along reduced loops.
    """
    accesses = kernel.accesses()
    paired = set() if kernel.bf16_split is None else {kernel.bf16_split.pairs}
    split = set() if kernel.k_split is None else {kernel.k_split.outputs, kernel.k_split.inputs}
    fixed = kernel.indexed | kernel.clipped | paired | split
    loops = [d for d in range(len(kernel.extents)) if d not in fixed]
    for outer, inner in permutations(loops, 2):
        extent = kernel.extents[inner]
        if all(a.coefficients[outer] == extent * a.coefficients[inner] for a in accesses):
            return outer, inner
    return None


def _with_rows_in_line(kernel: Kernel) -> Kernel:
    """Rows and columns as one loop for a sum of products that reads them like one."""
    found = _rows(kernel)
    if found is None:
        return kernel
    row, column = found
    rows, length = kernel.extents[row], kernel.extents[column]

    def access(a: Access) -> Access:
        if a.coefficients[row] == length * a.coefficients[column]:
            return a
        apart = a.coefficients[row] - length * a.coefficients[column]
        return replace(a, gap=Gap(column, length, apart))

    kept = [d for d in range(len(kernel.extents)) if d != row]
    return _select(_with_accesses(kernel, access), kept, {column: rows * length})


def _rows(kernel: Kernel) -> tuple[int, int] | None:
    """Loops over rows and columns of an image whose width the run tells: one factor walks them like
    one loop, the other does not move, and vectors lie along another loop.
    """
    operands = _factors(kernel)
    special = (kernel.matrices, kernel.lanes, kernel.bf16_split)
    by_table = any(a.table is not None for a in kernel.accesses())
    if operands is None or by_table or any(form is not None for form in special):
        return None
    broadcast, stream = operands
    fixed = kernel.indexed | kernel.clipped
    loops = [d for d in kernel.parallel if d not in fixed and not stream.coefficients[d]]
    for row, column in permutations(loops, 2):
        length, stride = kernel.extents[column], broadcast.coefficients[column]
        in_line = broadcast.coefficients[row] == length * stride
        if is_open(length) and stride and in_line and kernel.store.coefficients[column] != 1:
            return row, column
    return None


def _factors(kernel: Kernel) -> tuple[Access, Access] | None:
    """The factor that is broadcast to the lanes of a vector, and the one that has these lanes."""
    pair, quads = product_of(kernel), quads_of(kernel)
    if quads is not None:
        return quads[2:]
    for broadcast, stream in () if pair is None else (pair, pair[::-1]):
        lanes = [d for d in kernel.parallel if stream.coefficients[d] == 1]
        if any(broadcast.coefficients[d] != 1 and can_be_lane(kernel, d) for d in lanes):
            return broadcast, stream
    return None


def _select(kernel: Kernel, kept: Sequence[int], extents: Mapping[int, int]) -> Kernel:
    """The kernel on the loops `kept`, some with a new extent."""
    number = {d: i for i, d in enumerate(kept)}

    kernel = _with_accesses(kernel, lambda a: a.with_loops(lambda c: [c[d] for d in kept]))
    held, k_split = kernel.bf16_split, kernel.k_split
    return replace(
        kernel,
        extents=tuple(extents.get(d, kernel.extents[d]) for d in kept),
        reduced=frozenset(number[d] for d in kernel.reduced if d in number),
        valid_extents=tuple(
            (number[outer], number[inner], true)
            for outer, inner, true in kernel.valid_extents
            if outer in number and inner in number
        ),
        index_of={k: None if d is None else number.get(d) for k, d in kernel.index_of.items()},
        bf16_split=None if held is None else replace(held, pairs=number[held.pairs]),
        k_split=k_split
        and replace(k_split, outputs=number[k_split.outputs], inputs=number[k_split.inputs]),
    )


def _with_accesses(kernel: Kernel, access: Callable[[Access], Access]) -> Kernel:
    """The kernel with every access changed."""

    def stage(s: Stage) -> Stage:
        return Stage(s.body, tuple(None if a is None else access(a) for a in s.inputs))

    held = kernel.bf16_split
    if held is not None:
        held = replace(held, stage=stage(held.stage), store=access(held.store))
    return replace(
        kernel,
        anchor=stage(kernel.anchor),
        initial=stage(kernel.initial) if isinstance(kernel.initial, Stage) else kernel.initial,
        epilogue=tuple(stage(s) for s in kernel.epilogue),
        store=access(kernel.store),
        bf16_split=held,
    )
