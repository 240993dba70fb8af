"""The operations that reductions combine values with, also the lanes of a vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation


class Combining(NamedTuple):
    """How an operation combines the lanes of a vector, and its neutral element (see
    `element.number`).
    """

    across: CombiningKindFlag
    neutral: float


COMBINING: Mapping[type[Operation], Combining] = {
    arith.AddfOp: Combining(CombiningKindFlag.ADD, 0.0),
    arith.MulfOp: Combining(CombiningKindFlag.MUL, 1.0),
    arith.MaxnumfOp: Combining(CombiningKindFlag.MAXNUMF, float("-inf")),
    arith.MinnumfOp: Combining(CombiningKindFlag.MINNUMF, float("inf")),
    arith.MaximumfOp: Combining(CombiningKindFlag.MAXIMUMF, float("-inf")),
    arith.MinimumfOp: Combining(CombiningKindFlag.MINIMUMF, float("inf")),
    arith.AddiOp: Combining(CombiningKindFlag.ADD, 0),
    arith.MuliOp: Combining(CombiningKindFlag.MUL, 1),
    arith.MaxSIOp: Combining(CombiningKindFlag.MAXSI, float("-inf")),
    arith.MinSIOp: Combining(CombiningKindFlag.MINSI, float("inf")),
    arith.MaxUIOp: Combining(CombiningKindFlag.MAXUI, float("-inf")),
    arith.MinUIOp: Combining(CombiningKindFlag.MINUI, float("inf")),
}
