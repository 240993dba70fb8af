"""The loops of a contraction by their role, with the names of MLIR's `inferContractionDims`.

c[b, m, n] += a[b, m, k] * w[b, n, k]
"""

from __future__ import annotations

from typing import NamedTuple

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess


class ContractionDims(NamedTuple):
    """The two factors, data first, and the loops by the factors that they index.

    batch: parallel, both. m: parallel, the data. n: parallel, the weights. k: reduced, both.
    """

    lhs: TensorAccess
    rhs: TensorAccess
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    @staticmethod
    def of(linalg_op: LinalgOp, product: tuple[int, int] | None = None) -> ContractionDims | None:
        """The dims of a sum of products; None for any other operation. product: one of several."""
        product = product or linalg_op.product
        if product is None:
            return None
        lhs, rhs = (linalg_op.reads[position] for position in product)
        left, right = lhs.loops(), rhs.loops()

        def among(loops: tuple[int, ...], held: set[int]) -> tuple[int, ...]:
            return tuple(d for d in loops if d in held)

        return ContractionDims(
            lhs,
            rhs,
            batch=among(linalg_op.parallel, left & right),
            m=among(linalg_op.parallel, left - right),
            n=among(linalg_op.parallel, right - left),
            k=among(linalg_op.reduced, left & right),
        )
