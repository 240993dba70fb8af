"""How a contraction walks an axis: a window that slides, or a phase of one that is spread out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod

from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.window import Window
from ncc.dialects.size import largest


@dataclass(frozen=True)
class WindowDomain:
    """How a contraction walks one axis.

    out[y * out_step + out_start] takes x[y * x_step + u * x_tap + x_start] times
    w[u * tap_step + tap_start], for y < count and u < taps; `kernel` is the extent of w.
    """

    count: int
    taps: int
    kernel: int
    out_step: int = 1
    out_start: int = 0
    x_step: int = 1
    x_tap: int = 1
    x_start: int = 0
    tap_step: int = 1
    tap_start: int = 0

    def out(self, y: AffineExpr) -> AffineExpr:
        return _linear(y, self.out_step, self.out_start)

    def x(self, y: AffineExpr, u: AffineExpr) -> AffineExpr:
        at = _linear(y, self.x_step, self.x_start)
        return at if self.taps == 1 else at + _linear(u, self.x_tap, 0)

    def tap(self, u: AffineExpr) -> AffineExpr | int:
        return self.tap_start if self.taps == 1 else _linear(u, self.tap_step, self.tap_start)


def _linear(loop: AffineExpr, factor: int, offset: int) -> AffineExpr:
    scaled = loop if factor == 1 else loop * factor
    return scaled if offset == 0 else scaled + offset


MOST_PHASES = 1 << 12
"""Phases of all axes: each has an operation of its own."""


def _few(phases: int) -> int:
    if phases > MOST_PHASES:
        raise NotImplementedError(f"{phases} phases of a result, at most {MOST_PHASES}")
    return phases


def crossed(walks: Sequence[Sequence[WindowDomain]]) -> Iterator[tuple[WindowDomain, ...]]:
    """Each sweep of an axis with each of the others.

    Raises NotImplementedError where these are too many.
    """
    _few(prod(map(len, walks)))
    return product(*walks)


def phases(window: Window, size: int, out: int, before: int) -> tuple[int, int, list[WindowDomain]]:
    """Walk `out` places of a transposed convolution of `size` elements, `before` of them cropped.

    Element p = q * stride + r takes tap k from element (p - k * dilation) / stride, if it is whole:
    of the taps, those from one on in steps of stride / gcd(stride, dilation). Returns the padding
    that x needs before and behind, and a sweep a phase r that has taps.

    Raises NotImplementedError where phases are too many.
    """
    stride, dilation = window.stride, window.dilation
    common = gcd(stride, dilation)
    step, reach = stride // common, dilation // common
    firsts = {}
    for first in range(_few(min(window.kernel, step))):
        firsts[(first * dilation - before) % stride] = first
    found: list[tuple[int, int, int, int, int]] = []
    for r, first in sorted(firsts.items()):
        if r < out:
            taps = (window.kernel - 1 - first) // step + 1
            last = first + (taps - 1) * step
            count = (out - r - 1) // stride + 1
            start = (r + before - last * dilation) // stride
            found.append((r, count, taps, last, start))
    low = largest(0, *(-start for *_, start in found))
    ends = (count + (taps - 1) * reach + start for _, count, taps, _, start in found)
    high = largest(0, *(end - size for end in ends))
    sweeps = [
        WindowDomain(
            count,
            taps,
            window.kernel,
            out_step=stride,
            out_start=r,
            x_tap=reach,
            x_start=start + low,
            tap_step=-step,
            tap_start=last,
        )
        for r, count, taps, last, start in found
    ]
    return low, high, sweeps
