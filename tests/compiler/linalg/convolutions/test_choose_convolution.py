"""Convolutions in tiles: the same numbers, nothing materialised twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import ANY, Mock

import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.attributes import TILE
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions import choose_convolution as convolve
from ncc.compiler.linalg.convolutions.forms import Form
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.memory.room import Room
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, maximum
from tests.compiler.linalg.convolutions.layers import (
    block,
    convolution,
    dilated,
    grouped,
    pool,
    volume,
    weights,
)
from tests.compiler.linalg.convolutions.tiled import (
    MakeNetwork,
    calls_of,
    check_numbers,
    generics,
    in_tiles,
    rewritten,
)
from tests.compiler.linalg.operations import add, relu
from tests.crossed import crossed


@pytest.mark.parametrize(("size", "pad"), crossed([(7, 7), (13, 13), (14, 9), (16, 12)], [0, 1]))
def test_numbers(
    make_network: MakeNetwork, size: tuple[int, int], pad: int, always_tiled: Form
) -> None:
    """Tiles compute the convolution, even if they cover more than its result."""
    shape = (16, *size)
    module = make_network([shape], lambda b, x: relu(b, convolution(b, x, 32, pad=pad)))
    check_numbers(module, [shape], always_tiled)


@pytest.mark.parametrize(
    ("size", "pad"), crossed([(8, 8), (15, 13), (16, 11)], [(0, 0), (1, 1), (0, 1)])
)
def test_numbers_at_stride(
    make_network: MakeNetwork,
    size: tuple[int, int],
    pad: tuple[int, int],
    always_tiled_at_stride: Form,
) -> None:
    """Windows two elements apart, with any border and followers."""
    shape = (20, *size)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(relu(b, x), [0, pad[0], pad[0]], [0, pad[1], pad[1]])
        return pool(b, relu(b, convolution(b, x, 24, pad=0, stride=2)))

    check_numbers(make_network([shape], write), [shape], always_tiled_at_stride)


@pytest.mark.parametrize("window", [3, 5])
def test_groups_at_stride(
    make_network: MakeNetwork, window: int, always_tiled_at_stride: Form
) -> None:
    """Groups go by the same forms, and so do windows of 5x5."""
    shape = (32, 15, 12)
    write = partial(grouped, outputs=16, window=window, stride=2)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, write(b, x))), [shape], always_tiled_at_stride
    )


def test_a_residual_at_stride(
    make_network: MakeNetwork, make_plan: Any, always_tiled_at_stride: Form
) -> None:
    """A block that halves its image reads one tensor at both strides, and copies none."""
    shape = (16, 14, 14)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        short = convolution(b, x, 16, pad=0, stride=2, window=1)
        y = relu(b, convolution(b, x, 16, stride=2))
        return relu(b, add(b, convolution(b, y, 16), short))

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled_at_stride)
    PackChannels().apply(Context(), module)
    names = [layer for call in calls_of(make_plan(module)) for layer in call.layers]
    assert "copy" not in names


@pytest.mark.parametrize(
    ("size", "dilation"), crossed([(16, 16), (12, 18), (13, 7), (12, 7)], [2, 3])
)
def test_dilations(
    make_network: MakeNetwork, dilation: int, size: tuple[int, int], always_tiled: Form
) -> None:
    """Each phase has its tiles, and followers run on them."""
    shape = (16, *size)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        y = dilated(b, relu(b, dilated(b, x, 16, dilation)), 16, dilation)
        scale = weights(b, (16,), 5)
        o, p, q = b.loops_of(y.shape)
        return pool(b, relu(b, b.map((o, p, q), y[o, p, q] * scale[o] + x[o, p, q])))

    check_numbers(make_network([shape], write), [shape], always_tiled)


def test_dilations_of_volumes(make_network: MakeNetwork, always_tiled: Form) -> None:
    """Slices have phases as images have."""
    shape = (16, 2, 9, 8)
    check_numbers(
        make_network([shape], lambda b, x: relu(b, dilated(b, x, 16, 2))), [shape], always_tiled
    )


@pytest.mark.parametrize("size", [(16, 12), (13, 11)])
def test_dilations_without_a_copy(
    make_network: MakeNetwork, make_plan: Any, size: tuple[int, int], always_tiled: Form
) -> None:
    """Phases of equal size are written where the next border is; others are copied there once."""
    shape = (16, *size)

    def write(b: Builder, x: Tensor) -> Tensor:
        return dilated(b, relu(b, dilated(b, relu(b, x), 16, 2)), 16, 2)

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    PackChannels().apply(Context(), module)
    names = [layer for call in calls_of(make_plan(module)) for layer in call.layers]
    assert names.count("copy") == sum(n % 2 for n in size[:1])


@pytest.mark.parametrize(
    ("taps", "dilation", "deep"), [(3, 1, 1), (1, 1, 1), (2, 2, 1), (3, 1, 2), (1, 1, 2)]
)
def test_volumes(
    make_network: MakeNetwork, always_tiled: Form, taps: int, dilation: int, deep: int
) -> None:
    """Each slice of a volume has its tiles, which are summed; followers run on them."""
    shape = (16, 5, 9, 10)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = volume(b, relu(b, x), 16, taps=taps, dilation=dilation, strides=(deep, 1))
        scale, residual = weights(b, (16,), 5), relu(b, y)
        y = volume(b, residual, 16)
        o, z, p, q = b.loops_of(y.shape)
        return relu(b, b.map((o, z, p, q), y[o, z, p, q] * scale[o] + residual[o, z, p, q]))

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    assert image_transforms(module, always_tiled) == 2


@pytest.mark.parametrize(
    ("shape", "write"),
    [
        ((16, 9, 10), lambda b, x: convolution(b, x, 16)),
        ((16, 3, 9, 11), lambda b, x: volume(b, x, 16)),
        ((16, 14, 14), lambda b, x: dilated(b, x, 16, 2)),
        ((16, 3, 14, 14), lambda b, x: dilated(b, x, 16, 2)),
    ],
    ids=["image", "volume", "dilation", "dilation of a volume"],
)
def test_cells_that_tiles_have_beyond_the_result(
    make_network: MakeNetwork,
    always_tiled: Form,
    shape: tuple[int, ...],
    write: Callable[[Builder, Tensor], Tensor],
) -> None:
    """`valid_extents` name the loop over tiles of an axis and the loop over elements of a tile."""
    module = make_network([shape], lambda b, x: relu(b, write(b, relu(b, x))))
    check_numbers(module, [shape], always_tiled)
    views = [LinalgOp(op) for op in generics(module)]
    valid_extents = [(linalg_op, *tail) for linalg_op in views for tail in linalg_op.valid_extents]
    assert valid_extents
    for linalg_op, outer, inner, count in valid_extents:
        assert linalg_op.extents[inner] == always_tiled.tile
        assert 0 <= linalg_op.extents[outer] * always_tiled.tile - count < always_tiled.tile


@pytest.mark.parametrize("deep", [1, 2])
def test_volumes_at_stride(
    make_network: MakeNetwork, deep: int, always_tiled_at_stride: Form
) -> None:
    """Rows and columns two elements apart, with any stride of slices."""
    shape = (16, 4, 11, 8)
    write = partial(volume, outputs=16, strides=(deep, 2))
    check_numbers(
        make_network([shape], lambda b, x: relu(b, write(b, x))), [shape], always_tiled_at_stride
    )


def test_volumes_without_a_copy(
    make_network: MakeNetwork, make_plan: Any, always_tiled: Form
) -> None:
    """Each slice has its border where the tiles of the next convolution read it."""
    shape = (16, 3, 8, 8)
    module = make_network([shape], lambda b, x: volume(b, relu(b, volume(b, relu(b, x), 16)), 16))
    check_numbers(module, [shape], always_tiled)
    PackChannels().apply(Context(), module)
    names = [layer for call in calls_of(make_plan(module)) for layer in call.layers]
    assert "copy" not in names


def heads(b: Builder, x: Tensor, follow: Callable[[Tensor], Tensor], *, pad: int = 1) -> Tensor:
    """Two convolutions of one image; that of the first is read before there is the second."""
    first = relu(b, convolution(b, x, 16, pad=pad))
    o, p, q = b.loops_of(first.shape)
    halved = b.map((o, p, q), first[o, p, q] * 0.5)
    again = b.map((o, p, q), halved[o, p, q] + first[o, p, q])
    return b.concat([again, follow(convolution(b, x, 24, pad=pad))], axis=0)


def image_transforms(module: ModuleOp, form: Form) -> int:
    """How often an image is transformed."""
    matrices = [LinalgOp(op).separable for op in generics(module)]
    return sum(matrix == (form.input, form.input) for matrix in matrices)


@pytest.mark.parametrize("pad", [0, 1])
def test_one_image_of_several(make_network: MakeNetwork, always_tiled: Form, pad: int) -> None:
    """Convolutions of one image read one transform of it, whatever stands between them."""
    shape = (16, 13, 10)

    def write(b: Builder, x: Tensor) -> Tensor:
        return heads(b, x, lambda y: relu(b, y), pad=pad)

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    assert image_transforms(module, always_tiled) == 1


@pytest.mark.parametrize(("low", "high", "value"), [(0, 2, 0.0), (2, 0, 0.0), (1, 1, 1.0)])
def test_one_image_in_several_borders(
    make_network: MakeNetwork, always_tiled: Form, low: int, high: int, value: float
) -> None:
    """Other borders, by position or value, need another V."""
    shape = (16, 12, 12)

    def write(b: Builder, x: Tensor) -> Tensor:
        first = relu(b, convolution(b, x, 16))
        other = b.pad(x, [0, low, low], [0, high, high], value)
        return b.concat([first, relu(b, convolution(b, other, 24, pad=0))], axis=0)

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    assert image_transforms(module, always_tiled) == 2


def test_one_image_whose_border_is_not_all_read(
    make_network: MakeNetwork, always_tiled_at_stride: Form
) -> None:
    """At stride 2 nothing reads the last row and column of an even border, which may be there."""
    shape = (16, 12, 12)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        parts = []
        for outputs, high in ((16, 0), (24, 1)):
            image = b.pad(x, [0, 1, 1], [0, high, high])
            parts.append(relu(b, convolution(b, image, outputs, pad=0, stride=2)))
        return b.concat(parts, axis=0)

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled_at_stride)
    assert image_transforms(module, always_tiled_at_stride) == 1


def test_one_image_by_several_windows(make_network: MakeNetwork, always_tiled: Form) -> None:
    """Another form needs another V, for tiles of any size."""
    shape = (16, 12, 12)

    def write(b: Builder, x: Tensor) -> Tensor:
        first = relu(b, convolution(b, x, 16, pad=0))
        second = relu(b, convolution(b, x, 24, pad=0, window=5))
        return b.concat([b.slice(first, [0, 0, 0], [16, 8, 8]), second], axis=0)

    check_numbers(make_network([shape], write), [shape], always_tiled)


def test_one_image_apart(make_network: MakeNetwork, always_tiled: Form) -> None:
    """Convolutions with computed operands, or with a pool, stay where they are."""
    shape = (24, 12, 12)

    def with_image(b: Builder, x: Tensor) -> Tensor:
        return heads(b, x, lambda y: add(b, y, x))

    def with_pool(b: Builder, x: Tensor) -> Tensor:
        first = pool(b, relu(b, convolution(b, x, 16)))
        return b.concat([first, pool(b, relu(b, convolution(b, x, 24)))], axis=0)

    for write in (with_image, with_pool):
        module = make_network([shape], write)
        check_numbers(module, [shape], always_tiled)
        assert image_transforms(module, always_tiled) == 2


@pytest.mark.parametrize("pad", [0, 2])
def test_windows_of_five(make_network: MakeNetwork, pad: int, always_tiled: Form) -> None:
    """Tiles compute windows of 5x5, with followers."""
    shape = (16, 13, 10)

    def write(b: Builder, x: Tensor) -> Tensor:
        return pool(b, relu(b, convolution(b, x, 32, pad=pad, window=5)))

    check_numbers(make_network([shape], write), [shape], always_tiled)


@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("joined", [False, True], ids=["groups", "joined"])
def test_groups(make_network: MakeNetwork, window: int, joined: bool, always_tiled: Form) -> None:
    """Each group has its sums; all groups have their tiles in one tensor."""
    shape = (64, 14, 11)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = grouped(b, x, 16, window=window)
        scale = weights(b, (2, 16), 5)
        g, o, p, q = b.loops_of(y.shape)
        y = b.map((g, o, p, q), maximum(y[g, o, p, q] * scale[g, o], 0.5))
        return relu(b, b.collapse(y, [[0, 1], [2], [3]])) if joined else y

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    tiled = [op for op in generics(module) if "separable" in op.attributes]
    assert {shape_of(op.results[0])[0] for op in tiled} == {64, 32}


def test_an_operand_in_groups(make_network: MakeNetwork, always_tiled: Form) -> None:
    """A tensor that is added to groups is added after the tiles."""
    shapes = [(32, 8, 8), (2, 16, 6, 6)]

    def write(b: Builder, x: Tensor, r: Tensor) -> Tensor:
        return add(b, relu(b, grouped(b, x, 16, window=3)), r)

    check_numbers(make_network(shapes, write), shapes, always_tiled)


def test_groups_without_a_copy(
    make_network: MakeNetwork, make_plan: Any, always_tiled: Form
) -> None:
    """Groups read the channels of the layer before in place, and write those of the next layer."""
    shape = (32, 8, 8)

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, grouped(b, b.pad(relu(b, x), [0, 1, 1], [0, 1, 1]), 16, window=3))
        return relu(b, convolution(b, b.collapse(y, [[0, 1], [2], [3]]), 16))

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    PackChannels().apply(Context(), module)
    names = [layer for call in calls_of(make_plan(module)) for layer in call.layers]
    assert "copy" not in names and names.count("layout") == 2


@pytest.mark.parametrize("size", [8, 14])
def test_numbers_of_what_follows(make_network: MakeNetwork, size: int, always_tiled: Form) -> None:
    """Scales of channels, numbers and tensors of the same shape are read on the tiles."""
    shape = (16, size, size)

    def write(b: Builder, x: Tensor, r: Tensor) -> Tensor:
        r = relu(b, r)
        y = convolution(b, x, 16)
        scale = weights(b, (16,), 5)
        o, p, q = b.loops_of(y.shape)
        y = b.map((o, p, q), y[o, p, q] * scale[o] + r[o, p, q])
        o, p, q = b.loops_of(y.shape)
        return b.map((o, p, q), y[o, p, q] / (1.0 + exp(-y[o, p, q])))

    module = make_network([shape, shape], write)
    check_numbers(module, [shape, shape], always_tiled)
    assert all(len(shape_of(op.results[0])) == 5 for op in generics(module)[1:])


@pytest.mark.parametrize("size", [8, 13])
def test_nothing_twice(
    make_network: MakeNetwork, make_plan: Any, size: int, always_tiled: Form
) -> None:
    """Three kernels a convolution, with all that follows, and not a single copy between layers."""
    shape = (16, size, size)
    module = make_network([shape], lambda b, x: block(b, block(b, relu(b, x))))
    check_numbers(module, [shape], always_tiled)
    PackChannels().apply(Context(), module)
    before_and_behind = 3  # the first activation, blocks of 16 in, and out
    assert len(calls_of(make_plan(module))) <= 4 * 3 + before_and_behind


def test_concatenated_without_a_copy(
    make_network: MakeNetwork, make_plan: Any, always_tiled: Form
) -> None:
    """Tiles write nothing beyond a result, where other channels of the concat are."""
    shape = (16, 13, 13)

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        return b.concat([convolution(b, x, 16), relu(b, x)], axis=0)

    module = make_network([shape], write)
    check_numbers(module, [shape], always_tiled)
    PackChannels().apply(Context(), module)
    names = [layer for call in calls_of(make_plan(module)) for layer in call.layers]
    assert "copy" not in names


def test_a_pad_grows(make_network: MakeNetwork, always_tiled: Form) -> None:
    """There is one padded tensor, large enough for whole tiles; its other readers see a slice."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        padded = b.pad(relu(b, x), [0, 1, 1], [0, 1, 1])
        return [convolution(b, padded, 16, pad=0), relu(b, padded)]

    module = make_network([(16, 13, 13)], write)
    check_numbers(module, [(16, 13, 13)], always_tiled)
    pads = [op for op in network_of(module).body.block.ops if isinstance(op, tensor.PadOp)]
    size = -(-13 // always_tiled.tile) * always_tiled.tile + 2
    assert [shape_of(op.result) for op in pads] == [(16, size, size)]


def test_a_residual_that_others_place(make_network: MakeNetwork, always_tiled: Form) -> None:
    """An operand that is part of a concat is added after the tiles, and not copied."""
    shape = (16, 13, 13)

    def write(b: Builder, x: Tensor, r: Tensor) -> list[Tensor]:
        r = relu(b, r)
        return [add(b, convolution(b, x, 16), r), b.concat([r, relu(b, x)], axis=0)]

    module = make_network([shape, shape], write)
    check_numbers(module, [shape, shape], always_tiled)
    assert any(len(shape_of(op.results[0])) == 3 and len(op.inputs) == 2 for op in generics(module))


def test_room_for_strips(
    make_network: MakeNetwork, monkeypatch: pytest.MonkeyPatch, always_tiled: Form
) -> None:
    """The memory that the pool before it needs, less the image with its border."""
    monkeypatch.setattr(convolve, "strip_size", strip := Mock(return_value=1))
    rewritten(
        make_network([(96, 14, 14)], lambda b, x: convolution(b, pool(b, x), 32)),
        in_tiles(always_tiled, rows=None),
    )
    front, image = 4 * 96 * (14 * 14 + 7 * 7), 4 * 96 * 9 * 9
    room = Room(int(CostModel().memory.little_more * front) - image, read=image, made=0)
    strip.assert_called_with(ANY, 1, room)


def test_how_much_is_computed_at_a_time(make_network: MakeNetwork, always_tiled: Form) -> None:
    """V names its rows of tiles, or its columns where there is one row; nothing else says it."""
    tile, target = always_tiled.tile, in_tiles(always_tiled, rows=2)
    for shape, loop in (((16, 5 * tile, 14), 3), ((16, tile, 5 * tile), 4), ((16, tile, tile), -1)):
        module = make_network([shape], lambda b, x: relu(b, convolution(b, x, 16)))
        rewritten(module, target)
        said = [strip for op in generics(module) if (strip := TILE.of(op)) is not None]
        assert said == ([(loop, 2)] if loop > 0 else [])
