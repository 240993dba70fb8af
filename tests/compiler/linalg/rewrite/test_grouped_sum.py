"""Which sums are over the channels of groups, and how they are given their groups apart."""

from __future__ import annotations

import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.rewrite.grouped_sum import GroupedSum, Made
from ncc.compiler.linalg.rewrite.insert import generic_of, tensor_of
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones


def image(*shape: int) -> tuple[Builder, Tensor]:
    block = Block(arg_types=[TensorType(f32, shape)])
    return Builder(block), tensor_of(block.args[0])


def grouped(b: Builder, x: Tensor, groups: int, size: int, step: int | None = None) -> LinalgOp:
    """y[g, o, p] += x[g * step + i, p] * w[g, o, i]"""
    w = b.weight(ones(groups, 5, size))
    g, o, p, i = b.loops("g o p i")
    channel = g * (size if step is None else step) + i
    return LinalgOp(generic_of(b.sum((g, o, p), (i,), x[channel, p] * w[g, o, i])))


def test_groups_one_behind_the_other() -> None:
    """Loops by what they walk; sizes by these."""
    b, x = image(12, 7)
    found = GroupedSum.of(grouped(b, x, 3, 4))
    assert found is not None and (found.groups, found.size) == (3, 4)
    assert (found.group, found.channel) == (0, 3) and found.data.value is x.value


@pytest.mark.parametrize(
    ("channels", "groups", "size", "step"),
    [(12, 3, 1, 4), (12, 3, 2, 4), (12, 3, 4, 2), (13, 3, 4, 4)],
    ids=["single channels", "gaps", "overlaps", "channels behind the last"],
)
def test_channels_that_are_no_groups(channels: int, groups: int, size: int, step: int) -> None:
    """Each channel is in one group, and there is no other."""
    b, x = image(channels, 7)
    assert GroupedSum.of(grouped(b, x, groups, size, step)) is None


def test_loops_that_walk_more_than_channels() -> None:
    """A group that also moves along rows is no group of channels alone."""
    b, x = image(12, 9)
    w = b.weight(ones(3, 4))
    g, p, i = b.loops("g p:7 i")
    moved = b.sum((g, p), (i,), x[g * 4 + i, p + g] * w[g, i])
    assert GroupedSum.of(LinalgOp(generic_of(moved))) is None


def test_a_channel_that_is_kept() -> None:
    """Nothing is summed over it."""
    b, x = image(12, 7)
    w = b.weight(ones(3, 4, 7))
    g, i, p = b.loops("g i p")
    kept = b.sum((g, i), (p,), x[g * 4 + i, p] * w[g, i, p])
    assert GroupedSum.of(LinalgOp(generic_of(kept))) is None


def test_groups_have_their_own_padding() -> None:
    """A slice of a padded image would be padded channels of all; a pad of channels is none."""
    b, x = image(12, 7)
    found = GroupedSum.of(grouped(b, b.pad(x, (0, 1), (0, 1)), 3, 4))
    assert found is not None
    part = found.channels_of(b, 1, 3).value.owner
    assert isinstance(part, tensor.PadOp) and part.source.type == TensorType(f32, [8, 7])
    found = GroupedSum.of(grouped(b, b.pad(x, (4, 0), (0, 0)), 4, 4))
    assert found is not None
    assert isinstance(found.channels_of(b, 0, 2).value.owner, tensor.ExtractSliceOp)


def test_what_is_made_of_an_image_is_made_once() -> None:
    """Several sums share the new operand; each reads it at the given index."""
    b, x = image(12, 7)
    sums = [GroupedSum.of(grouped(b, x, 3, 4)) for _ in range(2)]
    made: Made = {}
    for found in sums:
        assert found is not None
        g, i = AffineForm.of({found.group: 1}), AffineForm.of({found.channel: 1})
        found.read(made, lambda b, value, size: b.reshape(tensor_of(value), (3, size, 7)), [g, i])
        (read,) = [
            access for access in LinalgOp(found.linalg_op.op).reads if access.value in made.values()
        ]
        assert [form.bare for form in read.index] == [0, 3, 2]
    assert len(made) == 1
