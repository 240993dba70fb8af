"""The loops of a separable transform."""

from __future__ import annotations

from dataclasses import dataclass

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import Matrix
from ncc.compiler.loops.kernel.kernel import Access, Kernel


@dataclass(frozen=True)
class TransformLoops:
    """The loops of one transform, its matrices, and how its data is read.

    out[row, column] = sum of m[row, down] * n[column, across] * data[down, across]
    """

    row: int
    column: int
    down: int
    across: int
    data: Access
    m: Matrix
    n: Matrix

    @staticmethod
    def of(kernel: Kernel) -> TransformLoops:
        """The loops by the inputs of the anchor: m and n, then the data."""
        first, second, data = kernel.anchor.inputs[:3]
        if kernel.matrices is None or first is None or second is None or data is None:
            raise CompilerBug("a separable transform reads its matrices, then its data")
        (row, down), (column, across) = _pair(kernel, first), _pair(kernel, second)
        return TransformLoops(row, column, down, across, data, *kernel.matrices)


def _pair(kernel: Kernel, matrix: Access) -> tuple[int, int]:
    """The result's loop and the reduced loop that index the matrix."""
    used = {d for d, factor in enumerate(matrix.coefficients) if factor}
    outer, inner = used - kernel.reduced, used & kernel.reduced
    if len(outer) != 1 or len(inner) != 1:
        raise CompilerBug("a matrix of a transform has one result loop and one reduced loop")
    return outer.pop(), inner.pop()
