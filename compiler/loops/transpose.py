"""Transposing a square of elements in registers: rows that were loaded become columns to store.

The square is cut into quarters: the off-diagonal ones change places, then each is transposed in the
same way. L vectors of L lanes take log2(L) rounds of L shuffles.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ncc.compiler.loops.build import LoopBuilder


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
