"""Operations are made as xDSL makes them."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, llvm, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, VectorType, f32, i64
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Operation, Region

from ncc.dialects.operation import copied, make, ops_of

VECTOR = VectorType(f32, [4])
FLAGS = arith.FastMathFlagsAttr("fast")


@pytest.mark.parametrize(
    ("kind", "operands", "properties"),
    [
        (arith.ConstantOp, 0, {"value": FloatAttr(1.0, f32)}),
        (arith.AddfOp, 2, {}),
        (arith.AddfOp, 2, {"fastmath": FLAGS}),
        (llvm.FAddOp, 2, {}),
        (llvm.AddOp, 2, {"overflowFlags": IntegerAttr(1, i64)}),
        (vector.FMAOp, 3, {}),
    ],
)
def test_nothing_differs(
    kind: type[Operation], operands: int, properties: dict[str, Attribute]
) -> None:
    """All that an operation holds, defaults too, and that its operands know of it."""
    block = Block(arg_types=[VECTOR] * operands)
    given = dict(properties)
    made, created = (
        way(operands=block.args, result_types=[VECTOR], properties=properties)
        for way in (lambda **rest: make(kind, **rest), kind.create)
    )
    ours, theirs = vars(made), vars(created)
    assert type(made) is type(created)
    assert ours.keys() <= theirs.keys()
    assert {name: getattr(made, name) for name in theirs if name not in _OF_ITS_OWN} == {
        name: theirs[name] for name in theirs if name not in _OF_ITS_OWN
    }
    assert [(r.type, r.op, r.index) for r in made.results] == [(VECTOR, made, 0)]
    for place, argument in enumerate(block.args):
        uses = [(use.operation, use.index) for use in argument.uses]
        assert uses == [(created, place), (made, place)]
        assert made._operand_uses[place] in list(argument.uses)
    made.properties["other"] = FLAGS
    assert properties == given


_OF_ITS_OWN = ("results", "_operand_uses")


def test_it_lives_as_others_do() -> None:
    """In a block, replaced, moved and erased: whoever used it no longer does."""
    block = Block(arg_types=[VECTOR])
    first = make(arith.AddfOp, operands=[block.args[0]] * 2, result_types=[VECTOR])
    second = make(arith.MulfOp, operands=[first.results[0]] * 2, result_types=[VECTOR])
    block.add_ops([first, second])
    first.results[0].replace_all_uses_with(block.args[0])
    first.detach()
    first.erase()
    assert list(second.operands) == [block.args[0]] * 2
    assert len(list(block.args[0].uses)) == 2
    second.verify()


def test_a_copied_region_is_a_clone() -> None:
    """The same text, names and attributes; what is read from outside stays the same value."""
    outside = Block(arg_types=[VECTOR])
    block = Block(arg_types=[VECTOR, VECTOR])
    block.args[0].name_hint = "data"
    first = make(
        arith.AddfOp,
        operands=[block.args[0], outside.args[0]],
        result_types=[VECTOR],
        attributes={"mark": FLAGS},
    )
    first.results[0].name_hint = "sum"
    last = make(YieldOp, operands=[first.results[0], block.args[1]])
    block.add_ops([first, last])
    holder = make(TestOp, regions=[Region(block)])
    copy = make(TestOp, regions=[copied(holder.regions[0])])
    clone = make(TestOp, regions=[holder.regions[0].clone()])
    assert copy.regions[0].parent is copy
    assert copy.is_structurally_equivalent(clone)
    assert str(copy) == str(clone)
    copy.erase()
    assert str(clone) == str(holder)
    assert len(list(outside.args[0].uses)) == 2


def test_the_operations_of_a_block() -> None:
    """In their order, as they stand: what is put in later is not among them."""
    block = Block([TestOp(), TestOp(), TestOp()])
    found = ops_of(block)
    assert found == list(block.ops) and ops_of(Block()) == []
    block.insert_op_before(TestOp(), found[1])
    block.erase_op(found[0])
    assert len(found) == 3 and ops_of(block) == list(block.ops) != found
