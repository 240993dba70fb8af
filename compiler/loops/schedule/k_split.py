"""The schedule of a contraction whose last block of outputs splits k (`emit/k_split.py`)."""

from __future__ import annotations

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.contraction import contraction
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import Target


def k_split(kernel: Kernel, target: Target) -> Schedule | None:
    """That of the contraction, for a kernel with folded weights.

    Raises CompilerBug where it is no contraction: nobody else can read such weights.
    """
    if kernel.k_split is None:
        return None
    found = contraction(kernel, target)
    if found is None:
        raise CompilerBug("folded weights of what is no contraction")
    return found
