"""Where the builder of loops inserts operations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding
from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import ncc
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import LoopBuilder
from ncc.compiler.target import BASELINE
from ncc.dialects.size import Size, form_of
from tests.compiler.llvm.conftest import Compiled
from tests.dialects.sizes import EXTENTS, expressions


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


def values_in_a_kernel(sizes: Sequence[int], at: Sequence[Sequence[int]]) -> list[list[int]]:
    """What the head of a kernel computes for some expressions of its own sizes, by their values."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    entry = Block(arg_types=[MemRefType(i64, [len(at[0])]), MemRefType(i64, [len(sizes)])])
    builder = LoopBuilder(entry, entry.args[0])
    for place, size in enumerate(sizes):
        builder.store(builder.constant(size, i64), entry.args[1], builder.constant(place))
    entry.add_op(ReturnOp())
    module = ModuleOp([FuncOp("f", (entry.arg_types, []), Region(entry))])
    module.verify()
    code, found = Compiled(str(module), BASELINE), np.empty((len(at), len(sizes)), np.int64)
    for told, row in zip(np.array(at), found, strict=True):
        code.call("f", told, row)
    return [[int(value) for value in row] for row in found]


FEW = [0, 1, 2, 3, 7, 16, 17, 40]
"""Extents, among them none at all."""


@settings(max_examples=10)
@given(st.lists(expressions(), min_size=10, max_size=40))
def test_a_kernel_computes_what_expressions_say(texts: list[str]) -> None:
    """Also where they are negative, or quotients of negative numbers."""
    names = {name: Size.symbol(f"n{k}", 20, least=0) for k, name in enumerate("hw")}
    sizes = [eval(text, {**EXTENTS, **names}) for text in texts]
    at = [*product(FEW, FEW)]
    wanted = [[form_of(n).value({"n0": h, "n1": w}) for n in sizes] for h, w in at]
    assert values_in_a_kernel(sizes, at) == wanted


def test_a_kernel_divides_by_no_size_that_may_be_0() -> None:
    """The processor would end the program."""
    builder = LoopBuilder(Block())
    with pytest.raises(CompilerBug, match="a kernel divides by n0, which may be 0"):
        builder.constant(4 // Size.symbol("n0", 20, least=0))


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
