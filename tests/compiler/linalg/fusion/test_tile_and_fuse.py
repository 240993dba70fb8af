"""Loops over tiles: what their bodies have, what stands behind them, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.attributes import TILE
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.forms import F4, Form
from ncc.compiler.linalg.fusion.tile_and_fuse import TileAndFuse
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.rewrite.insert import generic_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.shapes import Shape
from ncc.dialects.size import Size, assuming, form_of, in_full_tile, in_last_tile, is_open
from ncc.dialects.tiled import TiledLoopOp
from tests.compiler.conftest import network
from tests.compiler.linalg.convolutions.layers import (
    along,
    block,
    convolution,
    dilated,
    grouped,
    pool,
    volume,
)
from tests.compiler.linalg.convolutions.tiled import in_tiles
from tests.compiler.linalg.operations import (
    ELSEWHERE,
    add,
    add_from_elsewhere,
    relu,
    turned,
    whole_numbers,
)
from tests.crossed import crossed
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

Write: TypeAlias = Callable[[Builder, Tensor], "Tensor | Sequence[Tensor]"]


def tiled(module: ModuleOp, *, exact: bool = True) -> list[TiledLoopOp]:
    """The loops that the pass makes of a network, which computes the same as before.

    exact: whether all sums are of whole numbers; if not, numpy sums in another order.
    """
    function = network_of(module)
    draw = np.random.default_rng(0)
    shapes = [shape_of(argument) for argument in function.body.block.args]
    feeds = [draw.integers(-9, 10, shape).astype(np.float32) for shape in shapes]
    dtype = np.float32 if exact else np.float64
    wanted = evaluate(function, feeds, dtype=dtype)
    TileAndFuse().apply(Context(), module)
    module.verify()
    for want, got in zip(wanted, evaluate(network_of(module), feeds, dtype=dtype), strict=True):
        scale = 0 if exact else 1e-13 * np.abs(want).max()
        np.testing.assert_allclose(got, want, rtol=0, atol=scale)
    return [op for op in network_of(module).body.block.ops if isinstance(op, TiledLoopOp)]


def operations(loop: TiledLoopOp) -> list[LinalgOp]:
    return [LinalgOp(op) for op in loop.body.block.ops if isinstance(op, GenericOp)]


def behind(module: ModuleOp) -> list[GenericOp]:
    """The operations of a network that are in no loop."""
    return [op for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]


# --- Convolutions in tiles ------------------------------------------------------------------


STRIPS = 1, 2, 3


@pytest.fixture(params=STRIPS)
def strip(request: pytest.FixtureRequest) -> int:
    """So many rows of tiles, or columns, are computed at a time."""
    size: int = request.param
    return size


def loops_of(
    form: Form, strip: int, shape: Shape, write: Write, *, packed: bool = True
) -> list[TiledLoopOp]:
    """The loops of a network behind the passes that choose tiles, and perhaps the layout."""
    module = network([shape], write)
    ChooseConvolution(in_tiles(form, strip)).apply(Context(), module)
    if packed:
        PackChannels().apply(Context(), module)
    return tiled(module, exact=False)


@pytest.mark.parametrize(("height", "packed"), crossed([13, 16, 24], [False, True]))
def test_rows_of_tiles(strip: int, always_tiled: Form, height: int, packed: bool) -> None:
    """All strips that have their rows are one loop; the last one, if it is smaller or cut off,
    stands behind it.
    """
    whole = height // always_tiled.tile // strip
    shape = (16, height, 9)
    write = lambda b, x: relu(b, convolution(b, relu(b, x), 16))  # noqa: E731
    loops = loops_of(always_tiled, strip, shape, write, packed=packed)
    assert [loop.times for loop in loops] == ([whole] if whole > 1 else [])
    for loop in loops:
        image, *_ = (window for window in loop.windows if window.step)
        assert image.step == strip * always_tiled.tile
        assert image.size == image.step + always_tiled.taps - 1


def test_rows_that_never_fill_an_iteration(always_tiled: Form) -> None:
    """Where no image has more rows than one, there is no loop, and fewer rows do as well."""
    height = 2 * always_tiled.tile
    image = (16, Size.symbol("h", height, 1, height), 9)
    module = network([image], lambda b, x: relu(b, convolution(b, relu(b, x), 16)))
    ChooseConvolution(in_tiles(always_tiled, 2)).apply(Context(), module)
    with assuming() as assumed:
        TileAndFuse().apply(Context(), module)
    assert not assumed
    assert not any(isinstance(op, TiledLoopOp) for op in module.walk())


LAYERS: dict[str, tuple[Shape, Write]] = {
    "dilation": ((16, 26, 20), lambda b, x: relu(b, dilated(b, relu(b, x), 16, 2))),
    "dilation of a volume": ((16, 2, 19, 8), lambda b, x: relu(b, dilated(b, relu(b, x), 16, 2))),
    "groups": ((32, 15, 11), lambda b, x: relu(b, grouped(b, x, 16, window=3))),
    "volume": ((16, 3, 13, 9), lambda b, x: relu(b, volume(b, relu(b, x), 16))),
    "residual": ((16, 24, 10), lambda b, x: block(b, block(b, relu(b, x)))),
    "residual that is cut off": ((16, 21, 13), lambda b, x: block(b, block(b, relu(b, x)))),
    "pool": ((16, 24, 12), lambda b, x: relu(b, pool(b, relu(b, convolution(b, relu(b, x), 16))))),
    "pool of a last row": ((16, 25, 12), lambda b, x: pool(b, relu(b, convolution(b, x, 16)))),
    "pool over strips": ((16, 24, 12), lambda b, x: pool(b, convolution(b, x, 16), 3, 2)),
}


@pytest.mark.parametrize(("layer", "strip"), crossed(list(LAYERS), STRIPS))
def test_convolutions(always_tiled: Form, strip: int, layer: str) -> None:
    """Each in as many loops as there are convolutions that have iterations enough."""
    loops = loops_of(always_tiled, strip, *LAYERS[layer])
    assert loops or strip > 1
    for loop in loops:
        assert loop.times > 1
        assert sum(op.separable is not None for op in operations(loop)) == 2


@pytest.mark.parametrize("layer", ["residual", "pool", "pool of a last row", "pool over strips"])
def test_convolutions_of_any_size(always_tiled: Form, layer: str) -> None:
    """What holds of the iterations at the hint is proved for all images."""
    (channels, height, width), write = LAYERS[layer]
    sizes = Size.symbol("h", height, least=3), Size.symbol("w", width, least=3)
    whole, module = (network([(channels, *sizes)], write) for _ in range(2))
    ChooseConvolution(in_tiles(always_tiled, 2)).apply(Context(), module)
    with assuming() as assumed:
        TileAndFuse().apply(Context(), module)
    assert not assumed
    assert any(isinstance(op, TiledLoopOp) for op in module.walk())
    for h in (3, 9, 4 * always_tiled.tile, 4 * always_tiled.tile + 1):
        at = {"h": h, "w": 5}
        x = [np.random.default_rng(h).standard_normal((channels, h, 5)).astype(np.float32)]
        want, got = (
            evaluate(network_of(with_extents(one, at)), x, dtype=np.float64)[0]
            for one in (whole, module)
        )
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


ROWS_OF_TAPS = (3, 1, 41, 1), (7, 2, 48, 1), (11, 3, 41, 1), (7, 2, 48, 3), (11, 3, 67, 3)
"""Taps, parts of a window, the width of the row, and dilation."""


@pytest.mark.parametrize(("row", "strip"), crossed(ROWS_OF_TAPS, STRIPS))
def test_a_single_row(always_tiled: Form, strip: int, row: tuple[int, int, int, int]) -> None:
    """It is cut along its columns. Windows of several parts read V of the next strip, too: both
    iterations make it.
    """
    taps, parts, width, dilation = row

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        y = relu(b, along(b, x, 16, taps, 2, dilation=dilation))
        return relu(b, add(b, along(b, y, 16, taps, 2, dilation=dilation), x))

    for loop in loops_of(always_tiled, strip, (16, 1, width), write):
        (transform, *_) = operations(loop)
        made = shape_of(transform.op.results[0])[-2 if dilation == 1 else -3]
        assert made == strip + parts - 1


@pytest.mark.parametrize("height", [13, 12])
def test_convolutions_along_rows_one_behind_the_other(
    always_tiled: Form, strip: int, height: int
) -> None:
    """The second one reads the rows of one strip alone, but has a loop of its own."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, along(b, relu(b, x), 16, 7, 2))
        return relu(b, along(b, y, 16, 7, 2))

    loops = loops_of(always_tiled, strip, (16, height, 14), write)
    assert [loop.times for loop in loops] == [height // strip] * 2
    for loop in loops:
        assert [op.separable is not None for op in operations(loop)].count(True) == 2
        assert all(TILE.of(op.op) is None for op in operations(loop))


@pytest.mark.parametrize("formed", [False, True])
def test_weights_that_the_run_transforms(always_tiled: Form, formed: bool) -> None:
    """Their sum is transformed back in the loop, too, and what follows is done there."""
    module = network([(16, 24, 12)], lambda b, x: relu(b, convolution(b, relu(b, x), 32)))
    ChooseConvolution(in_tiles(always_tiled, 2, formed)).apply(Context(), module)
    PackChannels().apply(Context(), module)
    (loop,) = tiled(module, exact=False)
    shapes = [shape_of(op.op.results[0]) for op in operations(loop)]
    assert shape_of(loop.parts[0]) == shapes[-1] and len(shapes) >= 4


def test_a_convolution_without_strips_behind_another_one(always_tiled: Form) -> None:
    """Its V is large: it is not computed beside what it reads, which would keep nothing near."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = relu(b, along(b, relu(b, x), 16, 7, 2))
        return relu(b, along(b, y, 16, 7, 2))

    module = network([(16, 12, 14)], write)
    ChooseConvolution(in_tiles(always_tiled, 2)).apply(Context(), module)
    _, second = (op for op in behind(module) if TILE.of(op) is not None)
    TILE.drop(second)
    (loop,) = tiled(module, exact=False)
    assert len(loop.results) == 1 and len(operations(loop)) == 5


def siblings(b: Builder, x: Tensor, follow: Callable[[Builder, Tensor], Tensor]) -> list[Tensor]:
    first = relu(b, convolution(b, x, 16))
    return [first, follow(b, relu(b, convolution(b, x, 32)))]


def both(_: Builder, y: Tensor) -> Tensor:
    """Nothing follows either of two."""
    return y


@pytest.mark.parametrize(("height", "follow", "strip"), crossed([16, 18, 25], [both, pool], STRIPS))
def test_siblings_share_v(
    always_tiled: Form, strip: int, height: int, follow: Callable[[Builder, Tensor], Tensor]
) -> None:
    """One loop makes the results of all, and the transform of their image once."""
    write = lambda b, x: siblings(b, relu(b, x), follow)  # noqa: E731
    loops = loops_of(always_tiled, strip, (16, height, 10), write)
    for loop in loops:
        assert len(loop.results) == 2
        assert sum(op.separable is not None for op in operations(loop)) == 3


# --- What follows an operation -------------------------------------------------------------

IMAGE = (4, 16, 16)
ROWS = 4
"""Of the image, which are computed at a time."""


def marked(b: Builder, x: Tensor, axis: int = 1, rows: int = ROWS) -> Tensor:
    """The first value of a loop over so many rows at a time."""
    image = relu(b, x)
    TILE.put(generic_of(image), (axis, rows))
    return image


def followed(write: Write, rows: int = ROWS, shape: Shape = IMAGE, axis: int = 1) -> ModuleOp:
    """What `write` makes of an image that is computed in strips along an axis."""

    def whole(b: Builder, x: Tensor) -> Tensor | Sequence[Tensor]:
        image = marked(b, x, axis, rows)
        return write(b, relu(b, image))

    return network([shape], whole)


def largest(b: Builder, x: Tensor, *, window: int = 2, step: int = 2, rows: int = 8) -> Tensor:
    c, p, q, k, m = b.loops(f"c p:{rows} q:{x.shape[2] // 2} k:{window} m:2")
    return b.max((c, p, q), (k, m), x[c, p * step + k, q * 2 + m])


def turned_pool(b: Builder, x: Tensor) -> Tensor:
    c, p, q, k, m = b.loops(f"c p:{x.shape[2] // 2} q:{x.shape[1] // 2} k:2 m:2")
    return b.max((c, p, q), (k, m), x[c, q * 2 + m, p * 2 + k])


def depthwise(b: Builder, x: Tensor) -> Tensor:
    w = whole_numbers(b, x.shape[0], 2, 2)
    c, p, q, k, m = b.loops(f"c p:{x.shape[1] // 2} q:{x.shape[2] // 2} k m")
    return b.sum((c, p, q), (k, m), x[c, p * 2 + k, q * 2 + m] * w[c, k, m])


def pointwise(b: Builder, x: Tensor) -> Tensor:
    w = whole_numbers(b, 8, x.shape[0])
    o, p, q, i = b.loops(f"o p:{x.shape[1]} q:{x.shape[2]} i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i])


def largest_on_top(b: Builder, x: Tensor) -> Tensor:
    """The largest of x and of windows of a weight of more rows."""
    other = whole_numbers(b, x.shape[0], 2 * x.shape[1], x.shape[2])
    c, p, q, k = b.loops(f"c p:{x.shape[1]} q:{x.shape[2]} k:2")
    return b.max((c, p, q), (k,), other[c, p * 2 + k, q], x)


INSIDE: dict[str, tuple[Write, int, int]] = {
    "nothing": (lambda _, x: x, 2, 4),
    "no window": (relu, 3, 4),
    "pool": (largest, 3, 2),
    "what follows it": (lambda b, x: relu(b, largest(b, x)), 4, 2),
    "window of one row": (lambda b, x: largest(b, x, window=1), 3, 2),
    "turned": (turned_pool, 3, 2),
    "added to rows of another value": (
        lambda b, x: add(b, largest(b, x), whole_numbers(b, 4, 8, 8)),
        4,
        2,
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name: str) -> None:
    """Each strip of four rows makes so many of what follows, while it is near."""
    write, ops, rows = INSIDE[name]
    (loop,) = tiled(module := followed(write))
    assert (loop.times, len(operations(loop)), behind(module)) == (4, ops, [])
    (part,), (axis,) = loop.parts, loop.result_axes.get_values()
    assert shape_of(part)[axis] == rows


@pytest.mark.parametrize(("rows", "iterations"), [(8, 4), (7, 3), (6, 3), (3, 0), (2, 0)])
def test_a_pool_that_reads_less(rows: int, iterations: int) -> None:
    """Nobody computes rows that nobody reads; one iteration is no loop."""
    loops = tiled(module := followed(lambda b, x: largest(b, x, rows=rows)))
    assert [loop.times for loop in loops] == ([iterations] if iterations else [])
    assert len(behind(module)) == 3 * (-(-rows // 2) - iterations)


OUTSIDE: dict[str, tuple[Write, int]] = {
    "a product": (depthwise, 1),
    "a sum behind a pool": (lambda b, x: pointwise(b, largest(b, x)), 1),
    "on top of it": (largest_on_top, 1),
    "rows of two strips": (lambda b, x: largest(b, x, window=3, rows=7), 1),
    "another step": (lambda b, x: largest(b, x, window=3, step=3, rows=5), 1),
    "turned behind": (lambda b, x: turned(b, largest(b, x)), 1),
    "two readers": (lambda b, x: add(b, largest(b, x), turned(b, largest(b, x))), 4),
    "of its own rows, turned": (lambda b, x: add(b, y := largest(b, x), turned(b, y)), 2),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside(name: str) -> None:
    """Each of these needs rows of two strips, or more than rows, or is work of another kind."""
    write, ops = OUTSIDE[name]
    (loop,) = tiled(module := followed(write))
    assert (loop.times, len(behind(module))) == (4, ops)


@pytest.mark.parametrize("rows", [1, 3, 5, 6, 8, 15, 16, 20])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_strips_along_any_axis(rows: int, axis: int) -> None:
    """Whether they divide it or not, with what follows."""
    whole = IMAGE[axis] // rows
    loops = tiled(module := followed(relu, rows, axis=axis))
    assert [loop.times for loop in loops] == ([whole] if whole > 1 else [])
    pieces = -(-IMAGE[axis] // rows)
    assert len(behind(module)) == 3 * (pieces - whole if whole > 1 else pieces)


def test_a_result_that_several_read() -> None:
    """It is put together once, and each reads it, behind the loop."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        return [turned(b, x), depthwise(b, x), x]

    (loop,) = tiled(module := followed(write))
    assert len(loop.results) == 1 and len(behind(module)) == 2


def test_views_at_the_end_are_left() -> None:
    """Views are no work: they are of the whole result."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return b.slice(b.collapse(x, [[0], [1, 2]]), [0, 0], [4, 100])

    (loop,) = tiled(module := followed(write))
    assert [type(op) for op in loop.body.block.ops if "tensor.c" in op.name] == []
    kinds = [type(op) for op in network_of(module).body.block.ops]
    assert tensor.CollapseShapeOp in kinds and tensor.ExtractSliceOp in kinds


def test_what_stands_behind_is_cut_off() -> None:
    """17 rows are four strips of four and a row, of which a pool of eight rows reads nothing."""
    (loop,) = tiled(module := followed(largest, shape=(4, 17, 16)))
    assert loop.times == 4 and not behind(module)


@pytest.mark.parametrize("how", ELSEWHERE)
def test_other_values_are_read_elsewhere(how: str) -> None:
    """An iteration sees a window of them, where rows of it are rows of theirs; else it is done
    behind the loop.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        return add_from_elsewhere(b, x, whole_numbers(b, *ELSEWHERE[how]), how)

    loops = tiled(module := followed(write, 8, (32, 24, 24)))
    assert [loop.times for loop in loops] == [3]
    outside = how in ("rows upside down", "channels further on in each row")
    assert len(behind(module)) == outside


def test_a_sum_on_top_of_another_value() -> None:
    """A value that a reduction starts from is read by rows, whatever made it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        start = b.slice(whole_numbers(b, 4, 9, 8), [0, 1, 0], [4, 8, 8])
        c, p, q, k, m = b.loops("c p:8 q:8 k:2 m:2")
        return b.max((c, p, q), (k, m), x[c, p * 2 + k, q * 2 + m], start)

    tiled(followed(write))


def test_a_sum_on_top_of_its_own_rows() -> None:
    """What it starts from is made of what it reads."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, p, q = b.loops("c p:8 q:8")
        start = b.map((c, p, q), x[c, p * 2, q * 2] * 2.0)
        c, p, q, k, m = b.loops("c p:8 q:8 k:2 m:2")
        return b.max((c, p, q), (k, m), x[c, p * 2 + k, q * 2 + m], start)

    tiled(followed(write))


def test_a_reader_between() -> None:
    """What reads the image before all of it is computed would have to wait: it ends the loop."""

    def whole(b: Builder, x: Tensor) -> list[Tensor]:
        image = marked(b, x)
        across = turned(b, image)
        c, p, q = b.loops_of(image.shape)
        upside = b.map((c, p, q), image[c, p * -1 + 15, q])
        return [add(b, image, across), relu(b, image), upside]

    (loop,) = tiled(network([IMAGE], whole))
    assert loop.times == 4


def test_a_view_between() -> None:
    """A view of one result stands in front of what makes another one."""

    def whole(b: Builder, x: Tensor) -> list[Tensor]:
        image = marked(b, x)
        flat = b.collapse(largest(b, image), [[0], [1, 2]])
        return [flat, relu(b, image)]

    (loop,) = tiled(network([IMAGE], whole))
    assert loop.times == 4


def test_a_first_one_that_others_read_too() -> None:
    """Iterations that overlap make rows of it twice; those of the result are there once."""

    def whole(b: Builder, x: Tensor) -> list[Tensor]:
        image = marked(b, x)
        return [largest(b, image, window=4, rows=7), image]

    (loop,) = tiled(network([IMAGE], whole))
    assert [shape_of(part)[1] for part in loop.parts] == [4, 2]


STEPS: dict[str, Callable[[Builder, Tensor], Tensor]] = {
    "relu": relu,
    "pool": partial(lambda b, x: largest(b, x, rows=x.shape[1] // 2)),
    "long pool": lambda b, x: largest(b, x, window=3, rows=(x.shape[1] - 1) // 2),
    "pool by threes": lambda b, x: largest(b, x, window=3, step=3, rows=x.shape[1] // 3),
    "turned": turned,
    "flat": lambda b, x: b.expand(b.collapse(x, [[0], [1, 2]]), [[0], [1, 2]], x.shape),
    "cut off": lambda b, x: b.slice(x, [0, 0, 0], [x.shape[0], x.shape[1] - 1, x.shape[2]]),
    "sum": pointwise,
    "added": lambda b, x: add(b, x, whole_numbers(b, *x.shape)),
    "scaled": lambda b, x: scaled(b, x),
}


def scaled(b: Builder, x: Tensor) -> Tensor:
    w = whole_numbers(b, x.shape[0])
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), maximum(x[c, p, q] * w[c], -5.0))


@settings(max_examples=30)
@given(
    height=st.integers(8, 30),
    width=st.integers(8, 12),
    rows=st.integers(1, 9),
    axis=st.integers(0, 2),
    steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    kept=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_any_chain(
    height: int, width: int, rows: int, axis: int, steps: list[str], kept: list[bool]
) -> None:
    """Operations of any kind behind one another, of which others read some."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        found = []
        for name, other in zip(steps, kept, strict=False):
            if min(x.shape[1:]) < 4:
                break
            x = STEPS[name](b, x)
            found += [x] if other else []
        return [*found, x]

    tiled(followed(write, rows, (3, height, width), axis))


@pytest.mark.parametrize("rows", [Size.symbol("h", 40), 40])
def test_strips_of_any_width(rows: int) -> None:
    """How many rows an iteration makes may depend on the columns, whoever says how many rows there
    are: lines of text have as many for each width.
    """
    write, sizes = partial(convolution, outputs=16), (rows, Size.symbol("w", 24))
    whole, module = (network([(16, *sizes)], write) for _ in range(2))
    with assuming() as assumed:
        ChooseConvolution(in_tiles(F4, None)).apply(Context(), module)
        TileAndFuse().apply(Context(), module)
    assert not assumed
    (loop,) = (op for op in network_of(module).body.block.ops if isinstance(op, TiledLoopOp))
    draw = np.random.default_rng(0)
    times = {}
    for height, width in ((40, 24), (1, 1), (5, 4), (9, 3), (17, 200), (40, 9), (40, 200)):
        if height != rows and not is_open(rows):
            continue
        at = {"h": height, "w": width}
        x = [draw.standard_normal((16, height, width)).astype(np.float32)]
        want, got = (
            evaluate(network_of(with_extents(one, at)), x, dtype=np.float64)[0]
            for one in (whole, module)
        )
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())
        times[height, width] = form_of(loop.times).value(at)
    wanted = {(17, 200): 2, (40, 200): 3}
    assert times == {size: wanted.get(size, 1) for size in times}


def test_only_the_last_strip_is_cut_off(always_tiled: Form, strip: int) -> None:
    """All other ones are whole, also where the last one has as many rows of tiles."""
    module = network([(16, Size.symbol("h", 60, 10), 9)], partial(convolution, outputs=16))
    with assuming():
        ChooseConvolution(in_tiles(always_tiled, strip)).apply(Context(), module)
        TileAndFuse().apply(Context(), module)
    (loop,) = (op for op in network_of(module).body.block.ops if isinstance(op, TiledLoopOp))
    (_, _, valid), _ = operations(loop)[-1].valid_extents
    step = strip * always_tiled.tile
    assert in_full_tile(valid) == step
    for rows in range(29, 37):
        times, last = (form_of(n).value({"h": rows}) for n in (loop.times, in_last_tile(valid)))
        assert (times - 1) * step + last == rows
