"""Where blobs come from and how they are handed on: nothing here computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ncc.dialects.element import element_of
from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    OpenShape,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
    real,
    shape_of,
)
from ncc.dialects.ncnn.moving import MovingLayer, wanted_by_readers
from ncc.dialects.weights.derived import Bits


def stated_shape(w: int, h: int, d: int, c: int) -> Shape:
    """The shape that four extents say; the rank is that of the outermost one that is not 0."""
    if d:
        return (c, d, h, w)
    if c:
        return (c, h, w)
    return (h, w) if h else (w,)


_AXES = "cdhw"


@layer("Input", inputs=0, outputs=(1, None))
class InputOp(Layer):
    """An input of the network. Its extents are a hint: the caller's array decides."""

    TYPED: ClassVar[bool] = False
    """Whether the file tells the type of the elements."""

    w = integer(0)
    h = integer(1)
    d = integer(11)
    c = integer(2)

    def infer(self) -> list[Shape]:
        """The shapes that the results already have, else the one that the params say."""
        return [self.shape_of_result(k) for k in range(len(self.results))]

    @property
    def stated(self) -> OpenShape | None:
        """The shape in the params: None for an open extent, and for an open rank."""
        stated = stated_shape(self.w, self.h, self.d, self.c)
        if stated == (0,):
            return None
        return tuple(extent if extent > 0 else None for extent in stated)

    def axis_names(self, rank: int) -> Sequence[str]:
        """What the axes are called: ncnn has names for four, of which a blob has the last ones, and
        c in front.
        """
        if rank > len(_AXES):
            return list(map(str, range(rank)))
        return "chw" if rank == 3 else _AXES[-rank:]

    def element_types(self, *operands: Attribute) -> list[Attribute]:
        """Those that the results already have."""
        return [element_of(result) for result in self.results]

    def shape_of_result(self, k: int) -> Shape:
        """The shape that a result already has, else the one that the params say."""
        known = shape_of(self.results[k])
        if known is not None:
            return known
        stated = self.stated
        if stated is None or None in stated:
            blob = self.blob_names[k]
            raise LayerError(f"the shape of input '{blob}' is not known: the file does not say it")
        return tuple(extent or 0 for extent in stated)


@layer("MemoryData", inputs=0)
class MemoryDataOp(Layer):
    """A constant. `load_type` tells whether its values start with a tag (0) or are raw fp32 (1).

    Raw values are taken for int32, as ncnn's layers take memory, where the first reader wants that.
    """

    w = integer(0)
    h = integer(1)
    d = integer(11)
    c = integer(2)
    load_type = integer(21, 1)

    data = Weight(lambda op: op.shape if op.load_type == 1 else None)
    tagged_data = Weight(lambda op: op.shape if op.load_type == 0 else None, tagged=True)

    @property
    def shape(self) -> Shape:
        return stated_shape(self.w, self.h, self.d, self.c)

    @property
    def values(self) -> WeightAttr:
        """The constant itself, however it is stored."""
        held = self.data if self.load_type == 1 else self.tagged_data
        if held is None:
            raise LayerError("a MemoryData without its values")
        if self.load_type == 1 and wanted_by_readers(self.results[0]) == i32:
            return WeightAttr(Bits(held.data).weights)
        return held

    def check(self) -> None:
        check_choice(self, "load_type", (0, 1))
        if min(self.shape) <= 0:
            raise LayerError(f"a constant cannot have the shape {self.shape}")

    def infer(self) -> Shape:
        return self.shape

    def element_types(self, *operands: Attribute) -> Attribute:
        return self.values.element_type

    def reference(self) -> Array:
        return self.values.array()

    def lower(self, b: Builder) -> Tensor:
        return b.weight(self.values)


@layer("Split", outputs=(1, None))
class SplitOp(MovingLayer):
    """The input under several names."""

    READS_COUNTED: ClassVar[bool] = True

    def infer(self, x: Shape) -> list[Shape]:
        return [x] * len(self.results)

    def reference(self, x: Array) -> list[Array]:
        return [x] * len(self.results)

    def lower(self, b: Builder, x: Tensor) -> list[Tensor]:
        return [x] * len(self.results)


@layer("Noop", inputs=(1, None), outputs=(1, None))
class NoopOp(MovingLayer):
    """Each output is the input at its position; inputs left over end here."""

    READS_COUNTED: ClassVar[bool] = True

    def check(self) -> None:
        if len(self.results) > len(self.operands):
            raise LayerError(
                f"{len(self.results)} outputs cannot be taken from {len(self.operands)} inputs"
            )

    def infer(self, *xs: Shape) -> Sequence[Shape]:
        return xs[: len(self.results)]

    def element_types(self, *operands: Attribute) -> Sequence[Attribute]:
        return operands[: len(self.results)]

    def reference(self, *xs: Array) -> Sequence[Array]:
        return xs[: len(self.results)]

    def lower(self, b: Builder, *xs: Tensor) -> Sequence[Tensor]:
        return xs[: len(self.results)]


@layer("DeepCopy")
class DeepCopyOp(MovingLayer):
    """The input; whether memory is copied is no matter of values."""

    READS_COUNTED: ClassVar[bool] = True

    def infer(self, x: Shape) -> Shape:
        return x

    def reference(self, x: Array) -> Array:
        return x

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return x


@layer("Packing")
class PackingOp(MovingLayer):
    """The input; how many elements lie side by side in memory is no matter of values.

    With use_padding the outermost axis is filled up with zeros to a multiple of out_elempack.
    """

    out_elempack = integer(0, 1)
    use_padding = integer(1)
    cast_from = integer(2)
    cast_to = integer(3)

    def check(self) -> None:
        if self.out_elempack < 1:
            raise LayerError(f"out_elempack is {self.out_elempack}, not positive", "out_elempack")

    def _rest(self, x: Shape) -> int:
        """How many zeros follow along the outermost axis."""
        return -x[0] % self.out_elempack if self.use_padding else 0

    def infer(self, x: Shape) -> Shape:
        return (x[0] + self._rest(x), *x[1:])

    def reference(self, x: Array) -> Array:
        return np.pad(x, [(0, self._rest(x.shape)), *[(0, 0)] * (x.ndim - 1)])

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        inner = [0] * (x.rank - 1)
        return b.pad(x, [0, *inner], [self._rest(x.shape), *inner])


@layer("Dropout")
class DropoutOp(Layer):
    """y = x * scale: nothing is dropped at inference."""

    scale = real(0, 1.0)

    def infer(self, x: Shape) -> Shape:
        return x

    def reference(self, x: Array) -> Array:
        return x * self.scale

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if self.scale == 1.0:
            return x
        at = b.loops_of(x.shape)
        return b.map(at, x[at] * self.scale)
