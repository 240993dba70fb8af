"""The `sized` dialect: printed and parsed, matched as `tensor`, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp, f32
from xdsl.dialects.test import Test, TestOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.attributes import integers, tensor_type
from ncc.dialects.rt import RT
from ncc.dialects.size import Size
from ncc.dialects.sized import SIZED
from ncc.dialects.structured import expand, extract_slice, offsets_of, pad, pad_sides

N = Size.symbol("n", 12)
X = TestOp(result_types=[tensor_type(f32, (3, N))])
(x,) = X.results

TEXT = """builtin.module {
  %x = "test.op"() : () -> tensor<3x?xf32, [#rt.size<"n@12">]>
  %a = sized.pad %x low[0, "n@12 // 2"] high[1, 0] {
  ^bb0(%0: index, %1: index):
    %2 = arith.constant 0.000000e+00 : f32
    tensor.yield %2 : f32
  } : tensor<3x?xf32, [#rt.size<"n@12">]> to tensor<4x?xf32, [#rt.size<"n@12 // 2 + n@12">]>
  %b = sized.extract_slice %x[0, "n@12 // 2"] [3, "-(n@12 // 2) + n@12"] [1, 1] : tensor<3x?xf32, [#rt.size<"n@12">]> to tensor<3x?xf32, [#rt.size<"-(n@12 // 2) + n@12">]>
  %c = sized.expand_shape %x [[0 : i64], [1 : i64, 2 : i64]] output_shape [3, 1, "n@12"] : tensor<3x?xf32, [#rt.size<"n@12">]> into tensor<3x1x?xf32, [#rt.size<"n@12">]>
}"""  # noqa: E501


def test_printed_as_it_was_parsed() -> None:
    """In the form of `tensor`, with sizes in place of operands."""
    context = Context()
    for dialect in (Arith, Builtin, RT, SIZED, tensor.Tensor, Test):
        context.load_dialect(dialect)
    module = Parser(context, TEXT).parse_op()
    module.verify()
    assert str(module) == TEXT
    assert isinstance(module, ModuleOp)
    _, padded, part, shown = module.body.block.ops
    assert isinstance(padded, tensor.PadOp) and pad_sides(padded) == ([0, N // 2], [1, 0])
    assert isinstance(part, tensor.ExtractSliceOp) and offsets_of(part) == [0, N // 2]
    assert isinstance(shown, tensor.ExpandShapeOp)


def test_numbers_need_no_sizes() -> None:
    """Where only the extents of tensors are sizes, a pad is the one of `tensor`."""
    assert pad(x, [0, 1], [0, 2], 0.0).name == "tensor.pad"
    assert extract_slice(x, [0, 1], [3, 7]).name == "tensor.extract_slice"
    assert extract_slice(x, [0, 1], [3, N - 1]).name == "sized.extract_slice"


def test_expressions_of_one_size_differ() -> None:
    """A shape is right if it is so for the hint."""
    expand(x, [[0], [1, 2]], (3, 2, N // 2)).verify()


def _pad() -> Operation:
    return pad(x, [0, N // 2], [1, 0], 0.0)


def _slice() -> Operation:
    return extract_slice(x, [0, N // 2], [3, N - N // 2])


def _expand() -> Operation:
    return expand(x, [[0], [1, 2]], (3, 1, N))


@pytest.mark.parametrize(
    ("made", "property", "numbers", "message"),
    [
        (_pad, "static_low", [0, N], r"n // 2 \+ n.* is not .*2 \* n"),
        (_pad, "static_low", [0], "two numbers and an argument"),
        (_slice, "static_sizes", [3, N], "is not"),
        (_slice, "static_offsets", [0], "an offset and an extent"),
        (_slice, "static_strides", [1, 2], "neighbours stay neighbours"),
        (_expand, "static_output_shape", [3, 2, N], "is not"),
        (_expand, "static_output_shape", [3, N], "in one group"),
    ],
)
def test_other_numbers_than_the_result_has_are_refused(
    made: Callable[[], Operation], property: str, numbers: list[int], message: str
) -> None:
    """Each list is checked."""
    op = made()
    op.verify()
    op.properties[property] = integers(numbers)
    with pytest.raises(VerifyException, match=message):
        op.verify()
