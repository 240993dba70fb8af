"""One convolution, whatever slides along how many axes: banks of filters, and the sum over them.

The filters of one run are a `FilterParams`. `contract` sums along
window domains (`window_domain.py`), which say what a window reads and what it makes along one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.convolution.window_domain import WindowDomain
from ncc.dialects.ncnn.layer import Builder, Shape, Tensor
from ncc.dialects.ncnn.quantization.int8 import product
from ncc.dialects.ncnn.window import Window


@dataclass(frozen=True)
class Channels:
    """`group` independent banks of filters, each from `inputs` channels to `outputs`."""

    group: int
    outputs: int
    inputs: int

    @property
    def depthwise(self) -> bool:
        return self.group > 1 and self.outputs == self.inputs == 1

    @property
    def axes(self) -> Shape:
        """The channel axes of the result of a contraction."""
        if self.group == 1:
            return (self.outputs,)
        return (self.group,) if self.outputs == 1 else (self.group, self.outputs)

    @property
    def kept(self) -> list[bool]:
        """Which of the weights' axes (group, outputs, inputs) a contraction reads."""
        grouped = self.group > 1
        return [grouped, not grouped or self.outputs != 1, not grouped or self.inputs > 1]


class FilterParams(NamedTuple):
    """The filters of one run: their channels, and the window along each axis in numpy order."""

    channels: Channels
    windows: tuple[Window, ...]

    @property
    def num_output(self) -> int:
        return self.channels.group * self.channels.outputs

    @property
    def num_input(self) -> int:
        return self.channels.group * self.channels.inputs

    @property
    def kernel(self) -> Shape:
        return tuple(window.kernel for window in self.windows)

    @property
    def shape(self) -> Shape:
        """The filters as (group, outputs, inputs, *kernel)."""
        c = self.channels
        return (c.group, c.outputs, c.inputs, *self.kernel)

    @property
    def kept(self) -> list[bool]:
        """Which axes of `shape` a contraction reads: those of one cycle are gone."""
        return [*self.channels.kept, *(k > 1 for k in self.kernel)]


def contract(
    b: Builder,
    x: Tensor,
    w: Tensor,
    channels: Channels,
    sweeps: Sequence[WindowDomain],
    init: Tensor | float,
) -> Tensor:
    """One convolution along `sweeps`: x (channels, *space), w the axes of
    `FilterParams.kept`.

    The result has the axes `channels.axes` and then one a sweep.
    """
    x = whole_reads(b, x, sweeps)
    space = range(len(sweeps))
    sizes = {"g": channels.group, "o": channels.outputs}
    sizes |= {f"y{k}": sweeps[k].count for k in space}
    sizes |= {"i": channels.inputs, **{f"u{k}": sweeps[k].taps for k in space}}
    g, o, *rest = b.loops(" ".join(sizes), **sizes)
    ys, i, us = rest[: len(sweeps)], rest[len(sweeps)], rest[len(sweeps) + 1 :]
    kept = channels.kept
    lead = [g] * kept[0] + [o] * kept[1]
    at: AffineExpr = i if channels.group == 1 else g
    if channels.group > 1 and channels.inputs > 1:
        at = g * channels.inputs + i
    places = [domain.x(y, u) for domain, y, u in zip(sweeps, ys, us, strict=True)]
    taps = [s.tap(u) for s, u in zip(sweeps, us, strict=True) if s.kernel > 1]
    over = [i] * kept[2] + [u for s, u in zip(sweeps, us, strict=True) if s.taps > 1]
    target = [*lead, *(domain.out(y) for domain, y in zip(sweeps, ys, strict=True))]
    term = product(x[(at, *places)], w[(*lead, *[i] * kept[2], *taps)])
    if over or any(domain.out_step > 1 for domain in sweeps):
        return b.sum(target, over=over, of=term, init=init)
    return b.map(target, term + init[target] if isinstance(init, Tensor) else term)


def whole_reads(b: Builder, x: Tensor, sweeps: Sequence[WindowDomain]) -> Tensor:
    """x without what no sweep along its last axes reads where one walks it alone, element by
    element.

    A loop that indexes an axis alone runs over all of it.
    """
    lead = x.rank - len(sweeps)
    read = [
        s.count if s.taps == s.x_step == 1 and s.x_start == 0 else n
        for s, n in zip(sweeps, x.shape[lead:], strict=True)
    ]
    return b.slice(x, [0] * x.rank, (*x.shape[:lead], *read))
