"""Random nodes that move elements, and shapes that nodes compute."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tests.onnx.random_nodes.growth import Growth, Rejected, Value
from tests.onnx.random_nodes.images import no_region, resizing

INT64 = np.int64


def any_value(g: Growth, least_rank: int = 0, most_rank: int = 6) -> Value:
    real = g.chance(0.8)
    return g.some(lambda v: least_rank <= v.rank <= most_rank and v.is_real == real)


def extent(g: Growth, x: Value, axis: int) -> Value:
    """An extent as an array of one integer, as exporters compute it."""
    way = g.number(0, 3)
    if way == 0 and g.opset >= 15:
        end: dict[str, Any] = {} if axis == x.rank - 1 else {"end": axis + 1}
        return g.node("Shape", [x], exact=True, start=axis, **end)[0]
    (shape,) = g.node("Shape", [x], exact=True)
    if way == 1:
        return g.node("Gather", [shape, g.constant([axis], INT64)], exact=True)[0]
    if way == 2:
        bounds = [g.constant([n], INT64) for n in (axis, axis + 1)]
        return g.node("Slice", [shape, *bounds], exact=True)[0]
    (scalar,) = g.node("Gather", [shape, g.constant(axis, INT64)], exact=True)
    return unsqueezed(g, scalar, [0])


def unsqueezed(g: Growth, x: Value, axes: list[int]) -> Value:
    return by_axes(g, "Unsqueeze", x, axes)


def by_axes(g: Growth, kind: str, x: Value, axes: list[int], since: int = 13, **more: Any) -> Value:
    """Axes are an attribute first, and an input later."""
    if g.opset < since:
        return g.node(kind, [x], exact=True, axes=axes, **more)[0]
    return g.node(kind, [x, g.constant(axes, INT64)], exact=True, **more)[0]


def sizes(g: Growth, x: Value, wanted: list[int | None]) -> Value:
    """A shape; None is an extent of x at its place."""
    parts = [
        extent(g, x, axis) if size is None else g.constant([size], INT64)
        for axis, size in enumerate(wanted)
    ]
    return g.node("Concat", parts, exact=True, axis=0)[0] if len(parts) > 1 else parts[0]


def transpose(g: Growth) -> None:
    x = any_value(g, 1)
    order: dict[str, Any] = {"perm": g.rng.permutation(x.rank).tolist()} if g.chance(0.9) else {}
    g.node("Transpose", [x], exact=True, **order)


def reshape(g: Growth) -> None:
    """By 0, -1, and extents that are split or joined."""
    x = any_value(g, 1)
    wanted: list[int] = []
    axis = 0
    while axis < x.rank:
        if x.is_fixed(axis):
            n = x.shape[axis]
            factor = g.pick([k for k in range(1, n + 1) if n % k == 0])
            wanted += g.pick([[n], [factor, n // factor], [n, 1]])
        else:
            wanted.append(0 if axis == len(wanted) and g.chance(0.7) else -1)
        axis += 1
    if -1 not in wanted and g.chance(0.5):
        place = g.number(0, len(wanted) - 1)
        wanted[place] = -1
    joined = g.number(0, len(wanted) - 1)
    if g.chance(0.5) and joined and wanted.count(-1) < 2:
        pair = wanted[joined - 1 : joined + 1]
        whole = -1 if min(pair) <= 0 else prod(pair)
        wanted[joined - 1 : joined + 1] = [whole]
    g.node("Reshape", [x, g.constant(wanted, INT64)], exact=True)


def reshape_by_sizes(g: Growth) -> None:
    x = any_value(g, 2, 4)
    axis = g.number(0, x.rank - 2)
    parts = [extent(g, x, k) for k in range(x.rank)]
    (joined,) = g.node("Mul", parts[axis : axis + 2], exact=True)
    if g.chance(0.3):
        joined = g.constant([-1], INT64)
    parts[axis : axis + 2] = [joined]
    shape = g.node("Concat", parts, exact=True, axis=0)[0] if len(parts) > 1 else parts[0]
    g.node("Reshape", [x, shape], exact=True)


def flatten(g: Growth) -> None:
    x = any_value(g, 1)
    g.node("Flatten", [x], exact=True, axis=g.number(-x.rank, x.rank))


def squeeze(g: Growth) -> None:
    x = any_value(g)
    ones = [k for k in range(x.rank) if x.shape[k] == 1 and x.is_fixed(k)]
    if ones and g.chance(0.5):
        axes = [axis - x.rank if g.chance(0.5) else axis for axis in ones]
        by_axes(g, "Squeeze", x, axes[: g.number(1, len(axes))])
    else:
        rank = x.rank + g.number(1, 2)
        axes = g.rng.permutation(rank)[: rank - x.rank].tolist()
        unsqueezed(g, x, [axis - rank if g.chance(0.3) else axis for axis in axes])


def concat(g: Growth) -> None:
    x = any_value(g, 1)
    axis = g.number(0, x.rank - 1)

    def fits(v: Value) -> bool:
        return (
            v.dtype == x.dtype
            and v.rank == x.rank
            and all(
                np.delete(a.shape, axis).tolist() == np.delete(b.shape, axis).tolist()
                for a, b in zip(v.arrays, x.arrays, strict=True)
            )
        )

    parts = [x, *(g.some(fits) for _ in range(g.number(0, 3)))]
    if all(x.is_fixed(k) for k in range(x.rank) if k != axis) and g.chance(0.3):
        shape = list(x.shape)
        shape[axis] = g.number(1, 3)
        parts.append(g.constant(g.numbers(shape, x.dtype)))
    g.node("Concat", parts, exact=True, axis=axis - x.rank if g.chance(0.4) else axis)


def split(g: Growth) -> None:
    x = any_value(g, 1)
    axis = g.axis(x)
    if not x.is_fixed(axis):
        raise Rejected
    n = x.shape[axis]
    if g.opset >= 18 and g.chance(0.4):
        count = g.number(1, min(n, 4))
        g.node("Split", [x], outputs=count, exact=True, axis=axis, num_outputs=count)
        return
    parts = [k for k in (g.number(1, n), g.number(1, n), n) if k]
    parts = [parts[0], n - parts[0]] if parts[0] < n else [n]
    if g.opset < 13:
        g.node("Split", [x], outputs=len(parts), exact=True, axis=axis, split=parts)
    else:
        g.node("Split", [x, g.constant(parts, INT64)], outputs=len(parts), exact=True, axis=axis)


def slices(g: Growth) -> None:
    x = any_value(g, 1)
    axes = g.axes(x)
    starts, ends, steps = [], [], []
    for axis in axes:
        n = x.least(axis)
        step = g.pick([1, 1, 2, 3, -1, -2])
        first, last = sorted((g.number(0, n - 1), g.number(0, n - 1)))
        last += 1
        if not x.is_fixed(axis):
            last = g.pick([last, -1 if n > 1 and first == 0 else last, 2**31 - 1, 2**63 - 1])
        elif g.chance(0.5):
            last = g.pick([last, last - n if last < n else last, 2**63 - 1])
        if step < 0:
            first, last = g.pick([(-1, -(2**63)), (last - 1, -(2**31)), (-1, 0)])
            first = first if 0 <= first < n else -1
        starts.append(first)
        ends.append(last)
        steps.append(step)
    given: list[Value | None] = [g.constant(starts, INT64), g.constant(ends, INT64)]
    ordered = axes == list(range(len(axes)))
    given += [None if ordered and g.chance(0.5) else g.constant(axes, INT64)]
    given += [g.constant(steps, INT64)] if steps != [1] * len(steps) or g.chance(0.3) else []
    g.node("Slice", [x, *given], exact=True)


def slice_by_sizes(g: Growth) -> None:
    """One half, or all but the last."""
    x = any_value(g, 1)
    axis = g.number(0, x.rank - 1)
    size = extent(g, x, axis)
    (half,) = g.node("Div", [size, g.constant([2], INT64)], exact=True)
    (less,) = g.node("Sub", [size, g.constant([1], INT64)], exact=True)
    zero, place = g.constant([0], INT64), g.constant([axis], INT64)
    start, end = g.pick([(zero, half), (half, size), (zero, less), (zero, size)])
    g.node("Slice", [x, start, end, place], exact=True)


def gather(g: Growth) -> None:
    x = any_value(g, 1)
    axis = g.axis(x)
    n = x.least(axis)
    shape = g.pick([(), (1,), (3,), (2, 2)])
    places = g.rng.integers(-n, n, shape)
    if g.chance(0.3):
        held = g.some(lambda v: v.exact and v.dtype in (INT64, np.int32) and v.rank <= 2)
        (index,) = g.node("Mod", [held, g.constant(n, held.dtype)], exact=True)
    else:
        index = g.constant(places, g.pick([INT64, np.int32]))
    g.node("Gather", [x, index], exact=True, axis=axis)


def gather_elements(g: Growth) -> None:
    x = any_value(g, 1, 4)
    if not all(map(x.is_fixed, range(x.rank))):
        raise Rejected
    axis = g.axis(x)
    n = x.shape[axis]
    shape = [g.number(1, extent) for extent in x.shape]
    kind = g.pick(["GatherElements", "GatherND", "ScatterElements", "ScatterND"])
    if kind.endswith("ND"):
        depth = g.number(1, x.rank)
        count = g.number(1, 3)
        places = np.stack(
            [g.rng.permutation(x.shape[k])[:1].repeat(count) for k in range(depth)], -1
        )
        places[:, 0] = (places[:, 0] + np.arange(count)) % x.shape[0]
        given = [g.constant(places[: x.shape[0]], INT64)]
        if kind == "ScatterND":
            given.append(
                g.constant(g.numbers([len(places[: x.shape[0]]), *x.shape[depth:]], x.dtype))
            )
        g.node(kind, [x, *given], exact=True)
        return
    places = g.rng.integers(-n, n, shape)
    if kind == "ScatterElements":
        places = np.moveaxis(
            np.broadcast_to(
                g.rng.permutation(n)[: shape[axis]], [*np.delete(shape, axis), shape[axis]]
            ),
            -1,
            axis,
        )
        g.node(
            kind,
            [x, g.constant(places, INT64), g.constant(g.numbers(shape, x.dtype))],
            exact=True,
            axis=axis,
        )
        return
    g.node(kind, [x, g.constant(places, g.pick([INT64, np.int32]))], exact=True, axis=axis)


def pad(g: Growth) -> None:
    x = any_value(g, 1)
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if g.opset >= 19 else [])
    mode = g.pick(modes)
    sides = [g.pick([0, 0, 1, 2, 3]) for _ in range(2 * x.rank)]
    if mode == "constant" and g.chance(0.3):
        sides[g.number(0, len(sides) - 1)] = -1
    if mode in ("reflect", "wrap"):
        sides = [min(side, x.least(k % x.rank) - 1) for k, side in enumerate(sides)]
    given = [g.constant(sides, INT64)]
    if mode == "constant" and g.chance(0.5):
        given.append(g.constant(2, x.dtype))
    if g.opset >= 18 and g.chance(0.3):
        axis = g.number(0, x.rank - 1)
        value = g.constant(0, x.dtype) if len(given) < 2 else given[1]
        given = [g.constant([sides[axis], sides[axis + x.rank]], INT64), value]
        given.append(g.constant([axis], INT64))
    g.node("Pad", [x, *given], exact=True, mode=mode)


def expand(g: Growth) -> None:
    x = any_value(g, 0, 4)
    wanted: list[int | None] = [
        g.pick([1, 2, 3]) if x.is_fixed(k) and n == 1 else g.pick([None, 1])
        for k, n in enumerate(x.shape)
    ]
    shape = sizes(g, x, wanted) if wanted else g.constant([2], INT64)
    if g.chance(0.3):
        (shape,) = g.node(
            "Concat", [g.constant([g.pick([1, 2])], INT64), shape], exact=True, axis=0
        )
    g.node("Expand", [x, shape], exact=True)


def tile(g: Growth) -> None:
    x = any_value(g, 1, 5)
    g.node(
        "Tile", [x, g.constant([g.pick([1, 1, 2, 3]) for _ in range(x.rank)], INT64)], exact=True
    )


def resize_to_sizes(g: Growth) -> None:
    """To the size of another image, or to one that is computed."""
    x = g.real(3, 4)
    mode = g.pick(["nearest", "linear", "cubic"] if x.rank == 4 else ["nearest", "linear"])
    wanted: list[int | None] = [None, None, *(g.pick([None, 3, 5, 8]) for _ in range(2, x.rank))]
    shape = sizes(g, x, wanted)
    if g.chance(0.3):
        by = g.constant([1, 1, *[2] * (x.rank - 2)], INT64)
        (shape,) = g.node("Mul", [shape, by], exact=True)
    g.node("Resize", [x, *no_region(g), None, shape], **resizing(g, mode))


def filled(g: Growth) -> None:
    """A mask of an image, or the places along an axis."""
    x = any_value(g, 1, 4)
    if g.chance(0.5):
        from onnx import helper

        value = helper.make_tensor("value", 1, [1], [g.pick([0.5, 1.0])])
        (mask,) = g.node("ConstantOfShape", [sizes(g, x, [None] * x.rank)], exact=True, value=value)
        if x.is_real:
            g.node(g.pick(["Add", "Mul"]), [x, mask], exact=True)
        return
    (size,) = g.node(
        "Gather", [g.node("Shape", [x], exact=True)[0], g.constant(x.rank - 1, INT64)], exact=True
    )
    (places,) = g.node("Range", [g.constant(0, INT64), size, g.constant(1, INT64)], exact=True)
    (floats,) = g.node("Cast", [places], exact=True, to=1)
    if x.is_real:
        g.node(g.pick(["Add", "Mul"]), [x, floats], exact=True)


def triangle(g: Growth) -> None:
    x = any_value(g, 2)
    more = [g.constant(g.pick([-1, 0, 1, 2]), INT64)] if g.chance(0.6) else []
    g.node("Trilu", [x, *more], exact=True, upper=g.number(0, 1))


GROWING = [
    transpose,
    transpose,
    reshape,
    reshape,
    reshape_by_sizes,
    flatten,
    squeeze,
    concat,
    concat,
    split,
    slices,
    slices,
    slice_by_sizes,
    gather,
    gather_elements,
    pad,
    pad,
    expand,
    tile,
    resize_to_sizes,
    filled,
    triangle,
]
