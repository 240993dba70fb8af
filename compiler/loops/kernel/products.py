"""Which kernels sum products of two operands, and which of these take in four bytes at once."""

from __future__ import annotations

from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.linalg_op import factors
from ncc.compiler.loops.kernel.kernel import Access, Kernel, is_argument

QUAD = 4
"""Products that one instruction adds to a lane."""


def product_of(kernel: Kernel) -> tuple[Access, Access] | None:
    """The two accesses of acc + a * b, if that is the anchor."""
    if not kernel.accumulates or not kernel.reduced:
        return None
    op = kernel.anchor.yielded.owner
    found = None if isinstance(op, Block) else factors(op, kernel.anchor.body.args[-1])
    if found is None:
        return None
    numbers = [is_argument(o, kernel.anchor.body) for o in found]
    if numbers[0] is None or numbers[1] is None:
        return None
    a, b = kernel.anchor.inputs[numbers[0]], kernel.anchor.inputs[numbers[1]]
    return None if a is None or b is None else (a, b)


def quads_of(kernel: Kernel) -> tuple[int, int, Access, Access] | None:
    """The loop of the four, the lane, what stands still and what moves along it; or None."""
    return _fours(kernel, across=False)


def crossed_quads_of(kernel: Kernel) -> tuple[int, int, Access, Access] | None:
    """The same of windows: what is read of the data moves along the lane, the four lie behind one
    another, all lanes of each; or None.
    """
    return _fours(kernel, across=True)


def _fours(kernel: Kernel, across: bool) -> tuple[int, int, Access, Access] | None:
    pair = product_of(kernel)
    if pair is None or any(kernel.element_types[a.argument] != i8 for a in pair):
        return None
    for loop, lane in product(sorted(kernel.reduced), kernel.parallel):
        if kernel.extents[loop] != QUAD:
            continue
        still_steps = (1, kernel.extents[lane]) if across else (0, 1)
        for broadcast, stream in (pair, pair[::-1]):
            if (stream.coefficients[lane], stream.coefficients[loop]) != (QUAD, 1):
                continue
            if (broadcast.coefficients[lane], broadcast.coefficients[loop]) == still_steps:
                return loop, lane, broadcast, stream
    return None


def reads_unsigned(kernel: Kernel, broadcast: Access) -> bool:
    """Whether what stands still is bytes without a sign."""
    anchor = kernel.anchor
    argument = anchor.body.args[anchor.inputs.index(broadcast)]
    return any(isinstance(use.operation, arith.ExtUIOp) for use in argument.uses)
