"""Where the builder of loops inserts operations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import ncc
from ncc.compiler.loops.emit.loop_builder import LoopBuilder


def test_a_constant_belongs_to_no_loop() -> None:
    """Its first use is inside a loop, and it is also used outside."""
    entry = Block()
    builder = LoopBuilder(entry)

    def body(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
        builder.linear([(i, 5), (builder.local(builder.constant(7)), 3)], 0)
        return []

    builder.loop(builder.constant(0), builder.constant(4), 1, [], body)
    made = builder.linear([(builder.local(builder.constant(7)), 2)], 0)
    assert made.owner.parent is entry
    entry.add_op(ReturnOp())
    ModuleOp([FuncOp("f", ((), ()), Region(entry))]).verify()
    (loop,) = (op for op in entry.ops if isinstance(op, scf.ForOp))
    product, total = (op for op in loop.body.block.ops if op.results)
    assert product.name == "arith.muli" and total.name == "arith.addi"


def test_reads_at_a_constant_place_behind_a_loop(tmp_path: Path) -> None:
    """The channels of one row each, in reverse: vectors in a loop, and the remainder of the row."""
    path = tmp_path / "net.param"
    path.write_text(
        "7767517\n4 4\nInput x 0 1 x 0=126 1=1 2=6\nFlip f 1 1 x a -23300=1,0\n"
        "Flatten g 1 1 a b\nReLU r 1 1 b y\n"
    )
    x = np.random.default_rng(0).standard_normal((6, 1, 126), dtype=np.float32)
    for target in ("host", "baseline"):
        y = ncc.compile(path, target=target)(x)
        np.testing.assert_array_equal(y, np.maximum(x[::-1], 0).reshape(-1))
