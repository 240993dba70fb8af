"""Functions of the library as machine code whose vectors fill a register."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ncc.compiler.target import Target
from tests.compiler.llvm.called import Code, Compile


@pytest.fixture
def compiled(target: Target, machine_code: Callable[..., Code]) -> Compile:
    """From text whose vectors have 16 lanes, machine code whose vectors fill a register."""
    lanes = {"vector<16x": f"vector<{target.lanes}x", "constant 16 :": f"constant {target.lanes} :"}

    def compile_text(text: str, more: str = "") -> Code:
        for wide, own in lanes.items():
            text = text.replace(wide, own)
        return machine_code(text, target, more)

    return compile_text
