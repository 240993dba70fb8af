"""Operations that are made by hand are those that xDSL reads from text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, tensor, test
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.dialects.linalg import Linalg
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from ncc.dialects import structured

VIEWS: dict[str, Callable[[SSAValue], Operation]] = {
    "pad": lambda x: structured.pad(x, (1, 0), (0, 2), 7.0),
    "collapse": lambda x: structured.collapse(x, [[0, 1]]),
    "expand": lambda x: structured.expand(x, [[0, 1], [2]], (2, 2, 6)),
    "extract_slice": lambda x: structured.extract_slice(x, (0, 2), (4, 3)),
    "concat": lambda x: structured.concat([x, x], 1),
    "empty": lambda x: structured.empty((4, 6), f32),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    """What moves no data, and memory."""
    x = test.TestOp(result_types=[TensorType(f32, [4, 6])])
    holds_when_read(x, VIEWS[name](x.results[0]))


def test_fills() -> None:
    """A fill has a body, which its text does not show."""
    number, memory = structured.constant(0.5, f32), structured.empty((3,), f32)
    holds_when_read(number, memory, structured.fill(number.result, memory.tensor))


def test_only_tensors_have_a_shape() -> None:
    """A number is told by its type."""
    with pytest.raises(TypeError, match="f32 is no tensor"):
        structured.shape_of_tensor(structured.constant(0.5, f32).result)


def holds_when_read(*ops: Operation) -> None:
    """Text of these operations is read as operations with the same properties and types."""
    whole = ModuleOp(list(ops))
    whole.verify()
    context = Context()
    for dialect in (Builtin, arith.Arith, tensor.Tensor, Linalg, test.Test):
        context.load_dialect(dialect)
    read = Parser(context, str(whole)).parse_module()
    assert read.is_structurally_equivalent(whole)
