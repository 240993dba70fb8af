"""The `tiled` dialect: printed and parsed, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.dialects.test import Test, TestOp
from xdsl.ir import Attribute, Block
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.attributes import integer, integers, tensor_type
from ncc.dialects.shapes import Shape
from ncc.dialects.size import Size, tile_size
from ncc.dialects.structured import shape_of_tensor
from ncc.dialects.tiled import TILED, TiledLoopOp, Window, YieldOp

TEXT = """builtin.module {
  %x, %w = "test.op"() : () -> (tensor<4x11x9xf32>, tensor<4x4xf32>)
  %y, %s = "tiled.loop"(%x, %x) <{count = 3 : i64, axes = array<i64: 1, 2>, steps = array<i64: 2, 0>, result_axes = array<i64: 1, 0>}> ({
  ^bb0(%part: tensor<4x5x9xf32>, %still: tensor<4x11x8xf32>):
    %a, %b = "test.op"(%part, %still, %w) : (tensor<4x5x9xf32>, tensor<4x11x8xf32>, tensor<4x4xf32>) -> (tensor<4x2x9xf32>, tensor<1xf32>)
    tiled.yield %a, %b : tensor<4x2x9xf32>, tensor<1xf32>
  }) : (tensor<4x11x9xf32>, tensor<4x11x9xf32>) -> (tensor<4x6x9xf32>, tensor<3xf32>)
}"""  # noqa: E501


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Test, TILED):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_op()
    assert isinstance(module, ModuleOp)
    return module


def test_printed_as_it_was_parsed() -> None:
    """A window that moves, one that stands still, a value that the body reads whole."""
    module = parsed(TEXT)
    module.verify()
    assert str(module) == TEXT


def test_what_it_says() -> None:
    """Windows of operands, and parts of results."""
    _, loop = parsed(TEXT).body.block.ops
    assert isinstance(loop, TiledLoopOp)
    (x, again), last = loop.operands, loop.body.block.last_op
    assert loop.times == 3
    assert loop.windows == [
        Window(x, axis=1, step=2, size=5),
        Window(again, axis=2, step=0, size=8),
    ]
    assert last is not None and list(loop.parts) == list(last.operands)


def made(
    windows: Sequence[tuple[Shape, int, int, int]] = (((4, 11), 1, 3, 5),),
    parts: Sequence[tuple[Shape, int]] = (((2, 3), 1),),
    count: int = 3,
) -> TiledLoopOp:
    """A loop over windows (shape, axis, step, size) of operands that yields parts (shape, axis)."""

    def kind(shape: Sequence[int]) -> TensorType[Attribute]:
        return tensor_type(f32, shape)

    source = TestOp(result_types=[kind(shape) for shape, *_ in windows])
    seen = [Window(v, *rest) for v, (_, *rest) in zip(source.results, windows, strict=True)]
    sizes = [
        kind([size if k == axis else n for k, n in enumerate(shape)])
        for shape, axis, _, size in windows
    ]
    block = Block(arg_types=sizes)
    inner = TestOp(result_types=[kind(shape) for shape, _ in parts])
    block.add_ops([inner, YieldOp(inner.results)])
    return TiledLoopOp(count, seen, [axis for _, axis in parts], block)


def test_results_are_made_of_parts() -> None:
    """One behind the other, along an axis of each."""
    loop = made(parts=(((2, 3), 1), ((5,), 0)))
    loop.verify()
    assert [type for type in loop.result_types] == [TensorType(f32, [2, 9]), TensorType(f32, [15])]
    made(windows=()).verify()
    made(parts=()).verify()


def test_the_last_window_may_end_where_its_operand_does() -> None:
    """Eleven cells are three windows of five, three apart."""
    made(windows=[((4, 11), 1, 3, 5)]).verify()
    made(windows=[((4, 5), 1, 0, 5)]).verify()


@pytest.mark.parametrize(
    "window",
    [((4, 10), 1, 3, 5), ((4, 11), 1, 3, 6), ((4, 11), 1, 4, 5), ((4, 11), 1, -1, 5)],
    ids=["a smaller operand", "a larger window", "a larger step", "backwards"],
)
def test_windows_lie_in_their_operand(window: tuple[Shape, int, int, int]) -> None:
    """All of them."""
    with pytest.raises(VerifyException, match="windows reach beyond tensor<4x1[01]xf32>"):
        made([window]).verify()


def _count(loop: TiledLoopOp) -> None:
    loop.properties["count"] = integer(0)


def _no_axis(loop: TiledLoopOp) -> None:
    loop.properties["axes"] = integers([2])


def _axis_in_front(loop: TiledLoopOp) -> None:
    loop.properties["axes"] = integers([-1])


def _no_axis_of_result(loop: TiledLoopOp) -> None:
    loop.properties["result_axes"] = integers([2])


def _more_axes(loop: TiledLoopOp) -> None:
    loop.properties["axes"] = integers([1, 1])


def _fewer_steps(loop: TiledLoopOp) -> None:
    loop.properties["steps"] = integers([])


def _argument_of_nothing(loop: TiledLoopOp) -> None:
    loop.body.block.insert_arg(TensorType(f32, [1]), 1)


def _argument_of_another_rank(loop: TiledLoopOp) -> None:
    loop.body.block.erase_arg(loop.body.block.args[0])
    loop.body.block.insert_arg(TensorType(f32, [4]), 0)


def _another_axis(loop: TiledLoopOp) -> None:
    loop.properties["axes"] = integers([0])
    loop.properties["steps"] = integers([0])


def _more_result_axes(loop: TiledLoopOp) -> None:
    loop.properties["result_axes"] = integers([1, 1])


def _another_result_axis(loop: TiledLoopOp) -> None:
    loop.properties["result_axes"] = integers([0])


def _another_part(loop: TiledLoopOp) -> None:
    block = loop.body.block
    assert block.last_op is not None
    block.erase_op(block.last_op)
    inner = TestOp(result_types=[TensorType(f32, [2, 4])])
    block.add_ops([inner, YieldOp(inner.results)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_count, "one iteration at least"),
        (_no_axis, "tensor<4x11xf32> has no axis 2"),
        (_axis_in_front, "tensor<4x11xf32> has no axis -1"),
        (_no_axis_of_result, "tensor<2x9xf32> has no axis 2"),
        (_more_axes, "each operand has an argument, an axis and a step"),
        (_fewer_steps, "each operand has an argument, an axis and a step"),
        (_argument_of_nothing, "each operand has an argument, an axis and a step"),
        (_argument_of_another_rank, "tensor<4xf32> is no window of its operand"),
        (_another_axis, "tensor<4x5xf32> is no window of its operand"),
        (_more_result_axes, "each result has a part and an axis"),
        (_another_result_axis, "tensor<2x9xf32> is not made of tensor<2x3xf32>"),
        (_another_part, "tensor<2x9xf32> is not made of tensor<2x4xf32>"),
    ],
)
def test_refused(change: Callable[[TiledLoopOp], None], message: str) -> None:
    """Whatever does not fit the operands, or the results."""
    loop = made()
    loop.verify()
    change(loop)
    with pytest.raises(VerifyException, match=message):
        loop.verify()


H = Size.symbol("h", 20)
FEW = tile_size(8, H - (H - 1) // 8 * 8)


def test_the_last_tile_may_be_smaller() -> None:
    """All tiles together are the result; windows reach no further than their operands."""
    loop = made([((4, H + 2), 1, 8, FEW + 2)], [((2, FEW), 1)], (H - 1) // 8 + 1)
    loop.verify()
    assert shape_of_tensor(loop.results[0]) == (2, H)


def test_no_tile_reaches_beyond() -> None:
    """Nor does the last one."""
    loop = made([((4, H + 1), 1, 8, FEW + 2)], [((2, FEW), 1)], (H - 1) // 8 + 1)
    with pytest.raises(VerifyException, match="windows reach beyond"):
        loop.verify()


def test_a_yield_ends_a_loop() -> None:
    """And nothing else."""
    with pytest.raises(VerifyException, match="tiled.loop"):
        ModuleOp([YieldOp([])]).verify()
