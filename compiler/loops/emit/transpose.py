"""Transposes elements in registers: loaded rows become columns to store.

A square has four quarters. The off-diagonal ones are swapped, then each quarter is transposed in
the same way. L vectors of L lanes take log2(L) rounds of L shuffles.

Interleaved vectors are split into those of even and of odd numbers, then both groups in the same
way: n of them take n shuffles in a round. An odd n takes n (n - 1) shuffles.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.loop_builder import LoopBuilder


def transposed(builder: LoopBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """Vectors c with c[i][j] = rows[j][i]; as many rows as lanes, a power of two."""
    vectors = list(rows)
    lanes = len(vectors)
    half = lanes // 2
    while half:
        lower = [j if not j & half else lanes + j - half for j in range(lanes)]
        upper = [j + half if not j & half else lanes + j for j in range(lanes)]
        for i in range(lanes):
            if not i & half:
                a, b = vectors[i], vectors[i + half]
                vectors[i] = builder.shuffle(a, b, lower)
                vectors[i + half] = builder.shuffle(a, b, upper)
        half //= 2
    return vectors


def deinterleaved(builder: LoopBuilder, vectors: Sequence[SSAValue], lanes: int) -> list[SSAValue]:
    """Vectors c with c[i][j] = element j * n + i of n contiguous vectors."""
    count = len(vectors)
    if count == 1:
        return list(vectors)
    if count % 2:
        rows = [[divmod(j * count + i, lanes) for j in range(lanes)] for i in range(count)]
        return [_gathered(builder, vectors, row) for row in rows]
    pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
    groups = [
        deinterleaved(
            builder, [builder.shuffle(a, b, range(odd, 2 * lanes, 2)) for a, b in pairs], lanes
        )
        for odd in range(2)
    ]
    return [vector for pair in zip(*groups, strict=True) for vector in pair]


def interleaved(builder: LoopBuilder, vectors: Sequence[SSAValue], lanes: int) -> list[SSAValue]:
    """The inverse: n contiguous vectors, whose element j * n + i is vectors[i][j]."""
    count = len(vectors)
    if count == 1:
        return list(vectors)
    if count % 2:
        positions = [divmod(element, count)[::-1] for element in range(count * lanes)]
        rows = [positions[first : first + lanes] for first in range(0, count * lanes, lanes)]
        return [_gathered(builder, vectors, row) for row in rows]
    mixed = [n // 2 + n % 2 * lanes for n in range(2 * lanes)]
    groups = [interleaved(builder, vectors[odd::2], lanes) for odd in range(2)]
    return [
        builder.shuffle(a, b, part)
        for a, b in zip(*groups, strict=True)
        for part in (mixed[:lanes], mixed[lanes:])
    ]


def unfolded(builder: LoopBuilder, vector: SSAValue, lanes: int, times: int) -> SSAValue:
    """c with c[i] = the sum of vector[i * times + q] over q < times, a power of two. The lanes
    behind the last i hold some of them again.
    """
    apart = 1
    while apart < times:
        other = builder.shuffle(vector, vector, [lane ^ apart for lane in range(lanes)])
        vector = builder.binary(arith.AddfOp, vector, other)
        apart *= 2
    return builder.shuffle(vector, vector, [lane * times % lanes for lane in range(lanes)])


def _gathered(
    builder: LoopBuilder, vectors: Sequence[SSAValue], row: Sequence[tuple[int, int]]
) -> SSAValue:
    """Elements by vector and lane; each shuffle takes in one more vector."""
    found, lanes = vectors[0], len(row)
    for number, vector in enumerate(vectors[1:], 1):
        taken = [at if n == 0 and number == 1 else j for j, (n, at) in enumerate(row)]
        mask = [lanes + at if n == number else j for j, (n, at) in zip(taken, row, strict=True)]
        found = builder.shuffle(found, vector, mask)
    return found
