"""What the builder makes by itself is what xDSL makes."""

from __future__ import annotations

import math

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    StringAttr,
    UnitAttr,
    VectorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Region

from ncc.compiler.llvm.llvm_builder import POINTER, VOID, LlvmBuilder, function_op
from ncc.compiler.target import Target


def body() -> Region:
    return Region(Block([llvm.ReturnOp()], arg_types=[POINTER, i64]))


@pytest.mark.parametrize("is_internal", [False, True])
def test_a_function(is_internal: bool) -> None:
    """With what is said of it, with a body and without."""
    said: dict[str, Attribute] = {"passthrough": ArrayAttr([StringAttr("alwaysinline")])}
    linkage = llvm.LinkageAttr("internal" if is_internal else "external")
    type = llvm.LLVMFunctionType([POINTER, i64], llvm.LLVMVoidType())
    for region in (None, body):
        made = function_op(
            "f", [POINTER, i64], VOID, region and region(), is_internal=is_internal, said=said
        )
        other = llvm.FuncOp(
            "f",
            type,
            linkage=linkage,
            body=region and region(),
            other_props={"no_unwind": UnitAttr(), **said},
        )
        made.verify()
        assert made.properties == {k: v for k, v in other.properties.items() if v is not None}
        assert str(made) == str(other)


@pytest.mark.parametrize(
    ("numbers", "is_number"),
    [([1.0, math.inf], True), ([0.0, math.nan], False), ([math.nan, math.nan], False)],
)
def test_constants_that_are_numbers(numbers: list[float], is_number: bool) -> None:
    """Infinite ones are; a vector with a NaN is none."""
    builder = LlvmBuilder(Block(), Target.of("avx512"))
    vector = DenseIntOrFPElementsAttr.from_list(VectorType(f32, [2]), numbers)
    constant = builder.emit(llvm.ConstantOp(vector, vector.type)).results[0]
    assert builder.is_number(constant) == builder.is_number(constant) == is_number
    assert builder.is_number(builder.constant(numbers[0], f32)) == (numbers[0] == numbers[0])
