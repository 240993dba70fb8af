"""A layer type that ncnn does not have, as a package of its own.

pip install ./examples/snake        # or, without installing: import ncc_snake
python -c "import ncc; ncc.compile('net_with_snakes.param')"
"""

from __future__ import annotations

import numpy as np

from ncc.layers import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    Weight,
    integer,
    layer,
    scalar,
)


@layer("Snake")
class SnakeOp(Layer):
    """y = x + sin(a x)^2 / a, with a frequency a for each channel (the outermost axis).

    The frequencies stand in the .bin as fp32 without a tag.
    """

    channels = integer(0)

    frequencies = Weight(lambda op: (op.channels,))

    def check(self) -> None:
        if self.channels <= 0:
            raise LayerError(f"{self.channels} channels", "channels")

    def infer(self, x: Shape) -> Shape:
        if x[0] != self.channels:
            raise LayerError(f"{x[0]} channels, but {self.channels} frequencies", "channels")
        return x

    def reference(self, x: Array) -> Array:
        assert self.frequencies is not None
        a = self.frequencies.array().reshape(-1, *[1] * (x.ndim - 1))
        y: Array = x + np.sin(a * x) ** 2 / a
        return y

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        assert self.frequencies is not None
        at = b.loops_of(x.shape)
        value, a = x[at], b.weight(self.frequencies)[at[0]]
        wave = scalar.sin(value * a)
        return b.map(at, value + wave * wave / a)
