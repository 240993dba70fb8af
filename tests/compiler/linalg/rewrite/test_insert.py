"""Insertion of what a builder wrote, and erasure of dead operations."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Block

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    doc_of,
    erase_dead,
    generic_of,
    move_after,
    move_before,
    read_instead,
    rebuilt_without,
    replace_op,
    tensor_of,
)
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import relu, row_sums, work


def block_of(*shape: int) -> tuple[Builder, Tensor]:
    """A builder at the end of a block, and the block's argument."""
    block = Block(arg_types=[TensorType(f32, shape)])
    return Builder(block, "layer"), tensor_of(block.args[0])


def names_of(block: Block) -> list[str]:
    return [op.name for op in block.ops]


def test_what_was_written_keeps_its_order() -> None:
    """Before an operation, and after a value."""
    fresh = ["tensor.empty", "arith.constant", "linalg.fill"]
    for behind in (False, True):
        b, x = block_of(4)
        made = row_sums(b, b.reshape(x, (2, 2)))
        before, written = names_of(b.block), builder_for(generic_of(made))
        written.full((4,), 0.0)
        if behind:
            move_after(written, made.value)
            assert names_of(b.block) == [*before, *fresh]
        else:
            move_before(written, generic_of(made))
            assert names_of(b.block) == [*before[:-1], *fresh, before[-1]]
        assert not list(written.block.ops)


def test_behind_an_argument_is_in_front_of_all() -> None:
    """An argument has no operation; where there is none at all, it is nobody's."""
    b, x = block_of(4)
    written = Builder(Block())
    written.empty((4,))
    with pytest.raises(CompilerBug, match="empty block"):
        move_after(written, x.value)
    work(b, x)
    before = names_of(b.block)
    move_after(written, x.value)
    assert names_of(b.block) == ["tensor.empty", *before]


def test_a_result_is_put_for_another() -> None:
    """Who read the one reads the other, which is called as it was."""
    b, x = block_of(4)
    old = work(b, x)
    old.value.name_hint = "conv1"
    reader = TestOp([old.value])
    b.block.add_op(reader)
    written = builder_for(generic_of(old))
    made = relu(written, x)
    replace_op(generic_of(old), written, made)
    assert reader.operands[0] is made.value and made.value.name_hint == "conv1"
    assert doc_of(generic_of(made)) == "layer"


def test_an_operand_is_read_elsewhere() -> None:
    """The other operands are read where they were."""
    b, x = block_of(4, 6)
    op = generic_of(row_sums(b, x))
    turned, index = b.empty((6, 4)), (AffineForm.of({1: 1}), AffineForm.of({0: 1}))
    read_instead(op, 0, turned.value, index)
    (read,), write = LinalgOp(op).reads, LinalgOp(op).write
    assert read.value is turned.value and read.index == index
    assert [form.bare for form in write.index] == [0]


def test_an_operation_without_one_of_its_loops() -> None:
    """Later loops move up by one; the body and the kinds of the other loops stay."""
    b, _ = block_of(4)
    x, row = b.empty((3, 1, 5)), b.empty((3, 5))
    c, y, z = b.loops_of(x.shape)
    op = generic_of(b.sum((c, y), (z,), x[c, y, z]))
    first, last = AffineForm.of({0: 1}), AffineForm.of({2: 1})
    made = rebuilt_without(b, op, 1, [(row.value, [first, last])], [first], b.full((3,), 0.0))
    linalg_op = LinalgOp(generic_of(made))
    assert linalg_op.extents == (3, 5) and tuple(linalg_op.reduced) == (1,)
    assert [form.bare for form in linalg_op.reads[0].index] == [0, 1]


def test_a_value_that_is_not_computed() -> None:
    """Whoever asks for its operation is wrong."""
    _, x = block_of(4)
    with pytest.raises(CompilerBug, match="is not computed"):
        generic_of(x)


def test_what_nobody_reads_is_erased() -> None:
    """And what only that had read; what has no results does something else."""
    b, x = block_of(4)
    kept = work(b, x)
    relu(b, work(b, x))
    b.block.add_op(TestOp([kept.value]))
    erase_dead(b.block)
    assert [type(op) for op in b.block.ops][-2:] == [GenericOp, TestOp]
    assert sum(isinstance(op, GenericOp) for op in b.block.ops) == 1
