"""Views of what a rewrite made of a value: shapes here, numbers where rewrites are tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.rewrite.insert import tensor_of
from ncc.compiler.linalg.rewrite.through_views import leaves_whole, neighbours, same_view
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import relu

Shape: TypeAlias = tuple[int, ...]
Write: TypeAlias = Callable[[Builder, Tensor], Tensor]
OpOf: TypeAlias = Callable[[Write], Operation]

IMAGE = (32, 6, 4)


def padded(b: Builder, x: Tensor) -> Tensor:
    return b.pad(x, [0, 1, 2], [0, 3, 0], 5.0)


def joined(b: Builder, x: Tensor) -> Tensor:
    return b.concat([x, b.slice(x, [0, 0, 1], [32, 6, 3])], 2)


def joined_channels(b: Builder, x: Tensor) -> Tensor:
    return b.concat([x, x], 0)


def sliced(b: Builder, x: Tensor) -> Tensor:
    return b.slice(x, [16, 1, 0], [16, 2, 4])


def collapsed(b: Builder, x: Tensor) -> Tensor:
    return b.collapse(x, [[0], [1, 2]])


def expanded(b: Builder, x: Tensor) -> Tensor:
    return b.expand(x, [[0, 1], [2], [3]], [2, 16, 6, 4])


@pytest.fixture
def op_of(make_network: Callable[..., ModuleOp]) -> OpOf:
    """What makes the result of a network."""

    def last(write: Write) -> Operation:
        block = network_of(make_network([IMAGE], write)).body.block
        assert block.last_op is not None
        owner = block.last_op.operands[0].owner
        assert isinstance(owner, Operation)
        return owner

    return last


@pytest.mark.parametrize(
    ("write", "in_blocks", "with_row", "in_groups"),
    [
        (padded, (2, 10, 6, 16), (32, 10, 1, 6), (3, 32, 10, 6)),
        (joined_channels, (4, 6, 4, 16), (64, 6, 1, 4), (3, 64, 6, 4)),
        (sliced, (1, 2, 4, 16), (16, 2, 1, 4), (3, 16, 2, 4)),
        (expanded, (2, 1, 6, 4, 16), (2, 16, 6, 1, 4), (3, 2, 16, 6, 4)),
    ],
)
def test_a_view_of_values_with_one_axis_more(
    op_of: OpOf, write: Write, in_blocks: Shape, with_row: Shape, in_groups: Shape
) -> None:
    """Behind all axes, where the first counts blocks; in front of the last one; in front of all."""
    op = op_of(write)

    def view(shape: Shape, **given: int) -> Shape:
        b = Builder(Block())
        operands = [b.empty(shape) for _ in op.operands]
        made = same_view(b, op, operands, **given)
        assert type(made.value.owner) is type(op)
        return made.shape

    assert view((2, 6, 4, 16), behind=0, block=16) == in_blocks
    assert view((32, 6, 1, 4), behind=1) == with_row
    assert view((3, 32, 6, 4), behind=3) == in_groups
    assert view(IMAGE) == shape_of(op.results[0])


def test_other_axes_are_collapsed(op_of: OpOf) -> None:
    """Wherever the new axis is, but for amid those that become one."""
    op, b = op_of(collapsed), Builder(Block())
    assert same_view(b, op, [b.empty((2, 6, 4, 16))], behind=0).shape == (2, 24, 16)
    assert same_view(b, op, [b.empty((3, 32, 6, 4))], behind=3).shape == (3, 32, 24)


def test_fewer_channels(op_of: OpOf) -> None:
    """Of a view that leaves them whole, with the value that the border has."""
    op, b = op_of(padded), Builder(Block())
    made = same_view(b, op, [b.empty((7, 6, 4))])
    assert made.shape == (7, 10, 6) and "5.0" in str(made.value.owner)


@pytest.mark.parametrize(
    ("write", "whole"),
    [
        (padded, [True, False, False]),
        (joined, [True, True, False]),
        (joined_channels, [False, True, True]),
        (sliced, [False, False, True]),
    ],
)
def test_axes_that_a_view_leaves_whole(op_of: OpOf, write: Write, whole: list[bool]) -> None:
    """Counted from the first or from the last."""
    op = op_of(write)
    assert [leaves_whole(op, axis) for axis in range(3)] == whole
    assert [leaves_whole(op, axis) for axis in (-3, -2, -1)] == whole


def test_what_is_no_view_is_a_bug(op_of: OpOf) -> None:
    """An operation, say."""
    op, b = op_of(relu), Builder(Block())
    with pytest.raises(CompilerBug, match="no view"):
        same_view(b, op, [tensor_of(op.operands[0])])


def test_neighbouring_axes() -> None:
    """Neighbouring axes; a group may be empty."""
    assert neighbours([[3], [4, 5], []]) == [[0], [1, 2], []]
