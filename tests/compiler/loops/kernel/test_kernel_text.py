"""Accesses and numbers as text."""

from __future__ import annotations

import math

import pytest
from xdsl.context import Context
from xdsl.parser import Parser

from ncc.compiler.loops.kernel.kernel import Access, Gap, GatherTable
from ncc.compiler.loops.kernel.kernel_parser import KernelParser
from ncc.compiler.loops.kernel.kernel_text import access_text, number_text

TABLE = GatherTable(Access(4, 2, (0, 0, 1)), 63)


def parser(text: str) -> KernelParser:
    found = KernelParser(Parser(Context(), text))
    found.rank = 3
    return found


@pytest.mark.parametrize(
    "access, text",
    [
        (Access(0, 0, (0, 0, 0)), "arg0[0]"),
        (Access(1, 5, (0, 0, 0)), "arg1[5]"),
        (Access(2, -3, (4, 1, 0)), "arg2[4 * d0 + d1 - 3]"),
        (Access(10, 7, (-1, 0, -16)), "arg10[-d0 - 16 * d2 + 7]"),
        (Access(0, -7, (0, 0, 0)), "arg0[-7]"),
        (Access(0, 1, (3, 0, 0), TABLE), "arg0[3 * d0 + arg4[d2 + 2] to 63 + 1]"),
        (Access(0, 0, (0, 0, 0), TABLE), "arg0[arg4[d2 + 2] to 63]"),
        (Access(0, 5, (0, 16, 1), gap=Gap(1, 14, 32)), "arg0[16 * d1 + d2 + 32 * (d1 / 14) + 5]"),
        (Access(0, 0, (1, 0, 0), gap=Gap(0, 7, -2)), "arg0[d0 - 2 * (d0 / 7)]"),
    ],
)
def test_accesses(access: Access, text: str) -> None:
    """As arithmetic on loops."""
    assert access_text(access) == text
    assert parser(text).access() == access


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, -2.5, 1e-45, 3.4e38, math.inf, -math.inf, 3])
def test_numbers(number: float) -> None:
    """To the last bit, and integers stay integers."""
    found = parser(number_text(number)).number()
    assert repr(found) == repr(number)
