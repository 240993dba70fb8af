"""Small networks of every element type: what passes of -O2 make of them is right."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Attribute

from ncc.dialects.element import ELEMENTS, as_stored, is_half, is_integer
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import constant, exp, nan_maximum, select
from ncc.dialects.weights.sources import Array
from tests.typed import every_type, numbers, run, whole

IMAGES, SIDE, HALF = 2, 14, 7


def drawn(element: Attribute, *shape: int) -> Array:
    """Weights: any numbers, or small integers."""
    if is_integer(element):
        return whole(element, shape, shape[0])
    values = np.random.default_rng(shape).standard_normal(shape) / 8
    return numbers(as_stored(values, element), element)


@every_type
def test_products(name: str, level: int, target: str) -> None:
    """Matrix products, convolutions and pooling; sums of half precision are rounded once."""
    element = ELEMENTS[name]
    if name == "bool":
        pytest.skip("there are no sums of truth values")
    a, w = whole(element, (17, 40)), whole(element, (40, 33), 1)
    image, kernel = whole(element, (4, 19, 23), 2), whole(element, (6, 4, 3, 3), 3)

    def write(b: Builder, a: Tensor, image: Tensor) -> list[Tensor]:
        weights, taps = (b.constant(as_stored(x, element), element) for x in (w, kernel))
        m, n, k = b.loops("m:17 n:33 k:40")
        made = [b.sum((m, n), (k,), a[m, k] * weights[k, n])]
        m, n, k = b.loops("m:17 n:17 k:40")
        made.append(b.sum((m, n), (k,), a[m, k] * a[n, k]))
        x = b.pad(image, (0, 1, 1), (0, 1, 1))
        for stride, rows, columns in ((1, 19, 23), (2, 10, 12)):
            o, y, z, c, r, s = b.loops(f"o:6 y:{rows} z:{columns} c:4 r:3 s:3")
            of = x[c, y * stride + r, z * stride + s] * taps[o, c, r, s]
            made.append(b.sum((o, y, z), (c, r, s), of))
        c, y, z, r, s = b.loops("c:4 y:9 z:11 r:3 s:3")
        return [*made, b.max((c, y, z), (r, s), image[c, y * 2 + r, z * 2 + s])]

    found = run([(a.shape, element), (image.shape, element)], write, [a, image], level, target)
    single = (x.astype(np.float32) if is_half(element) else x for x in (a, w, image, kernel))
    a, w, image, kernel = single
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    inside = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2))
    convolved = np.einsum("cyzrs,ocrs->oyz", windows, kernel, dtype=a.dtype)
    pooled = inside[:, ::2, ::2].max((3, 4))
    exact = [a @ w, a @ a.T, convolved, convolved[:, ::2, ::2], pooled]
    for made, expected in zip(found, exact, strict=True):
        if not is_integer(element):
            expected = numbers(as_stored(expected, element), element)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected)


@every_type
def test_a_network(name: str, level: int, target: str) -> None:
    """Convolutions with epilogues, depthwise ones, means and a softmax, of a batch."""
    element = ELEMENTS[name]
    if name == "bool":
        pytest.skip("there are no sums of truth values")
    x = whole(element, (IMAGES, 16, SIDE, SIDE))
    weights = [drawn(element, *s) for s in ((32, 16, 3, 3), (32,), (32, 3, 3), (48, 32), (48, 10))]

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        held = [b.constant(as_stored(w, element), element) for w in weights]
        kernel, bias, depthwise, pointwise, last = held
        p = b.pad(x, (0, 0, 1, 1), (0, 0, 1, 1))
        n, o, y, z, c, r, s = b.loops(f"n o y:{SIDE} z:{SIDE} c r s")
        t = b.sum((n, o, y, z), (c, r, s), p[n, c, y + r, z + s] * kernel[o, c, r, s])
        at = b.loops_of(t.shape)
        t = b.map(at, nan_maximum(t[at] + bias[at[1]], 0))
        p = b.pad(t, (0, 0, 1, 1), (0, 0, 1, 1))
        n, o, y, z, r, s = b.loops(f"n o y:{HALF} z:{HALF} r s")
        t = b.sum((n, o, y, z), (r, s), p[n, o, y * 2 + r, z * 2 + s] * depthwise[o, r, s])
        n, o, y, z, c = b.loops("n o y z c")
        t = b.sum((n, o, y, z), (c,), t[n, c, y, z] * pointwise[o, c])
        at = b.loops_of(t.shape)
        t = b.map(at, t[at] * select(t[at] > 0, constant(1, element), 2))
        at = b.loops_of(t.shape)
        total = b.sum(at[:2], at[2:], t[at])
        n, o, k = b.loops("n o k")
        scores = b.sum((n, o), (k,), total[n, k] * last[k, o])
        if is_integer(element):
            return [t, scores]
        n, o = b.loops_of(scores.shape)
        largest = b.max((n,), (o,), scores[n, o])
        n, o = b.loops_of(scores.shape)
        powers = b.map((n, o), exp(scores[n, o] - largest[n]))
        n, o = b.loops_of(scores.shape)
        sums = b.sum((n,), (o,), powers[n, o])
        n, o = b.loops_of(scores.shape)
        return [t, scores, b.map((n, o), powers[n, o] / sums[n])]

    found = run([(x.shape, element)], write, [x], level, target)
    wide = np.float64 if not is_integer(element) else x.dtype
    data, kernel, bias, depthwise, pointwise, last = (a.astype(wide) for a in (x, *weights))
    t = np.einsum("ncyzrs,ocrs->noyz", windows(data), kernel)
    t = np.maximum(t + bias[:, None, None], 0)
    t = np.einsum("noyzrs,ors->noyz", windows(t)[:, :, ::2, ::2], depthwise)
    t = np.einsum("ncyz,oc->noyz", t, pointwise)
    t = t * np.select([t > 0], [np.ones_like(t)], 2).astype(wide)
    scores = t.sum((2, 3), dtype=wide) @ last
    exact = [t, scores]
    if not is_integer(element):
        powers = np.exp(scores - scores.max(1, keepdims=True))
        exact.append(powers / powers.sum(1, keepdims=True))
    close = {"float64": 1e-12, "float32": 1e-5, "float16": 0.02, "bfloat16": 0.2}.get(name, 0)
    for made, expected in zip(found, exact, strict=True):
        error = np.abs(made.astype(np.float64) - expected.astype(np.float64)).max()
        assert error <= close * np.abs(expected.astype(np.float64)).max()


def windows(x: Array) -> Array:
    """Windows of 3 x 3 around each element."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
