"""FixedPoint in three bytes, and in two and a half: the float32 that is made of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ncc.dialects.element import i20, i24
from ncc.dialects.fixed_point import held_by, operations_of


def computed(operations: list[Operation], held: int) -> float:
    """What the operations make of the bits, in int32 and float32."""
    values: dict[SSAValue, Any] = {operations[0].operands[0]: np.uint32(held)}
    made: Any = None
    for op in operations:
        given = [values[operand] for operand in op.operands]
        match op:
            case arith.ConstantOp(value=IntegerAttr() as number):
                made = np.uint32(number.value.data)
            case arith.ConstantOp(value=FloatAttr() as number):
                made = np.float32(number.value.data)
            case arith.ExtUIOp():
                (made,) = given
            case arith.ShLIOp():
                made = np.left_shift(*given)
            case arith.AddiOp():
                made = np.add(*given)
            case arith.SIToFPOp():
                made = np.float32(given[0].view(np.int32))
            case arith.BitcastOp():
                made = given[0].view(np.float32)
            case arith.MulfOp():
                made = np.multiply(*given)
            case arith.SubfOp():
                made = np.subtract(*given)
            case _:
                pytest.fail(f"{op.name} makes no fraction")
        values[op.results[0]] = made
    assert isinstance(made, np.float32)
    return float(made)


@pytest.mark.parametrize(
    ("kind", "held", "number"),
    [
        (i24, 0, 0.0),
        (i24, 1, 2.0**-23),
        (i24, (1 << 23) - 1, 1 - 2.0**-23),
        (i24, 1 << 23, -1.0),
        (i24, (1 << 24) - 1, -(2.0**-23)),
        (i20, 1 << 19, 0.0),
        (i20, (1 << 19) + 1, 2.0**-19),
        (i20, (1 << 20) - 1, 1 - 2.0**-19),
        (i20, 0, -1.0),
    ],
)
def test_numbers(kind: Attribute, held: int, number: float) -> None:
    """Both ends, the middle and its neighbours, exactly."""
    operations = operations_of(Block(arg_types=[kind]).args[0])
    assert operations[-1].results[0].type == f32
    assert computed(operations, held) == number


@pytest.mark.parametrize("kind", [i20, i24])
def test_a_fraction_is_known_by_its_operations(kind: Attribute) -> None:
    """By the last of them, and by none of those in between."""
    held = Block(arg_types=[kind]).args[0]
    *between, last = operations_of(held)
    assert held_by(last.results[0]) is held
    assert all(held_by(op.results[0]) is None for op in between)
    assert held_by(held) is None
