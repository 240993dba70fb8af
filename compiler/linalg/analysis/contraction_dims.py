"""What each loop of a contraction is for, named as MLIR's `inferContractionDims` names it.

c[b, m, n] += a[b, m, k] * w[b, n, k]
"""

from __future__ import annotations

from dataclasses import dataclass

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess


@dataclass(frozen=True)
class ContractionDims:
    """The two factors, data first, and the loops by which of them they move.

    batch: parallel, both. m: parallel, the data. n: parallel, the weights. k: reduced, both.
    """

    lhs: TensorAccess
    rhs: TensorAccess
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    @staticmethod
    def of(linalg_op: LinalgOp) -> ContractionDims | None:
        """Those of a sum of products; None for anything else."""
        if linalg_op.product is None:
            return None
        lhs, rhs = (linalg_op.reads[position] for position in linalg_op.product)

        def moving(loops: tuple[int, ...], left: bool, right: bool) -> tuple[int, ...]:
            return tuple(d for d in loops if (lhs.uses(d), rhs.uses(d)) == (left, right))

        return ContractionDims(
            lhs,
            rhs,
            batch=moving(linalg_op.parallel, True, True),
            m=moving(linalg_op.parallel, True, False),
            n=moving(linalg_op.parallel, False, True),
            k=moving(linalg_op.reduced, True, True),
        )
