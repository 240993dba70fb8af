"""Finds kernels that sum products of two operands, and of bytes in groups of four."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.linalg_op import factors
from ncc.compiler.loops.kernel.kernel import NO_SUM, Access, Kernel, Reason, is_argument
from ncc.compiler.target import OCTET, QUAD

Quads: TypeAlias = tuple[int, int, Access, Access]
"""The loop over the products of a group, the lane, the broadcast operand, and the one that moves
along the lane."""


def product_of(kernel: Kernel) -> tuple[Access, Access] | None:
    """The two accesses of acc + a * b, if that is the anchor."""
    found = match_product(kernel)
    return None if isinstance(found, str) else found


def match_product(kernel: Kernel) -> tuple[Access, Access] | Reason:
    """The same, with the reason for any other kernel."""
    if not kernel.accumulates or not kernel.reduced:
        return NO_SUM
    op = kernel.anchor.yielded.owner
    found = None if isinstance(op, Block) else factors(op, kernel.anchor.body.args[-1])
    if found is None:
        return "it sums no products"
    numbers = [is_argument(o, kernel.anchor.body) for o in found]
    read = [None if number is None else kernel.anchor.inputs[number] for number in numbers]
    if read[0] is None or read[1] is None:
        return "it computes what it multiplies"
    return read[0], read[1]


def quads_of(kernel: Kernel) -> Quads | None:
    """The parts of a sum of products whose weights lie in groups of four."""
    found = match_quads(kernel)
    return None if isinstance(found, str) else found


def match_quads(kernel: Kernel, across: bool = False) -> Quads | Reason:
    """The same, with the reason for any other kernel.

    across: for windows, not contractions: the data moves along the lane, too, and has all lanes of
    one tap after the other.
    """
    pair = match_product(kernel)
    if isinstance(pair, str):
        return pair
    if any(kernel.element_types[a.argument] != i8 for a in pair):
        return "its operands are not bytes"
    for loop, lane in product(sorted(kernel.reduced), kernel.parallel):
        count = kernel.extents[loop]
        if count != QUAD and (count != OCTET or across):
            continue
        strides = (1, kernel.extents[lane]) if across else (0, 1)
        for broadcast, stream in (pair, pair[::-1]):
            if (stream.coefficients[lane], stream.coefficients[loop]) != (count, 1):
                continue
            if (broadcast.coefficients[lane], broadcast.coefficients[loop]) == strides:
                return loop, lane, broadcast, stream
    return "its weights do not lie in groups of four or eight"


def reads_unsigned(kernel: Kernel, broadcast: Access) -> bool:
    """Whether the broadcast operand is unsigned."""
    anchor = kernel.anchor
    argument = anchor.body.args[anchor.inputs.index(broadcast)]
    return any(isinstance(use.operation, arith.ExtUIOp) for use in argument.uses)
