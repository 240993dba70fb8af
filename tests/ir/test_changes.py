"""The text of what passes change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ncc.compiler.linalg.analysis.generics import network_of
from tests.ir.changes import Changes
from tests.ir.conftest import parse

TEXT = """
builtin.module {
  func.func @network(%x: f32, %y: f32) -> f32 {
    %0 = arith.addf %x, %y : f32
    %1 = arith.mulf %0, %0 : f32
    %r = arith.subf %1, %y : f32
    func.return %r : f32
  }
}
"""
LOOP = """
builtin.module {
  func.func @network(%x: index, %y: index) {
    %r = scf.for %i = %x to %y step %x iter_args(%s = %x) -> (index) {
      %n = arith.subi %s, %i : index
      scf.yield %n : index
    }
    func.return
  }
}
"""


def operations(module: ModuleOp) -> list[Operation]:
    """Those of the network."""
    return list(network_of(module).body.block.ops)


def nothing(add: Operation, mul: Operation, sub: Operation, last: Operation) -> None:
    pass


def other_operand(add: Operation, mul: Operation, sub: Operation, last: Operation) -> None:
    mul.operands[1] = sub.operands[1]


def erased(add: Operation, mul: Operation, sub: Operation, last: Operation) -> None:
    last.operands[0] = mul.results[0]
    sub.detach()
    sub.erase()


def another(add: Operation, mul: Operation, sub: Operation, last: Operation) -> None:
    new = mul.clone()
    block = mul.parent_block()
    assert block is not None
    block.insert_op_after(new, mul)
    last.operands[0] = new.results[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (nothing, ["// nothing"]),
        (other_operand, ["...", "%1 = arith.mulf %0, %y : f32", "..."]),
        (erased, ["// erased: %r", "...", "func.return %1 : f32"]),
        (another, ["...", "%2 = arith.mulf %0, %0 : f32", "...", "func.return %2 : f32"]),
    ],
)
def test_what_is_not_as_before(change: Callable[..., None], expected: list[str]) -> None:
    """Values keep their names; new ones have the next numbers."""
    module, _ = parse(TEXT)
    changes = Changes(module)
    change(*operations(module))
    assert changes.text(module).splitlines() == expected


@pytest.mark.parametrize("swap", [False, True])
def test_a_body_is_written_once(swap: bool) -> None:
    """An operation is like another one if it does the same with its operands."""
    module, _ = parse(LOOP)
    changes = Changes(module)
    loop, _ = operations(module)
    first, second = loop.clone(), loop.clone()
    x, y, *_ = second.operands
    second.operands = [y, x, y, y]
    difference = second.regions[0].block.first_op
    assert difference is not None
    if swap:
        difference.operands = difference.operands[::-1]
    network_of(module).body.block.insert_ops_after([first, second], loop)
    text = changes.text(module)
    assert text.count("arith.subi") == 1 + swap
    assert ("%r_2 = like %r_1 of %y, %x, %y, %y" in text) is not swap
