"""The schedule of a contraction whose last block of outputs splits k (`emit/k_split.py`)."""

from __future__ import annotations

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.schedule.contraction import contraction
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import Target


def k_split(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The schedule of the contraction, for a kernel with such weights.

    Raises CompilerBug if it is no contraction: no other strategy can read such weights.
    """
    if kernel.k_split is None:
        return "its weights do not split k"
    found = contraction(kernel, target)
    if isinstance(found, str):
        raise CompilerBug(f"weights that split k, of what is no contraction: {found}")
    return found
