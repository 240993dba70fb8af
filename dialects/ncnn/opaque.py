"""A layer of a type that nobody here knows, handed on as it stands in its file.

Its params are the words of the file, its weights are bytes, and what it computes is not said: it
has no reference and no lowering, no pattern looks through it, and shapes behind it are what the
file's hints say of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, OptPropertyDef, PropertyDef, base

from ncc.dialects.ncnn.layer import Layer, Shape, Weight, WeightAttr, declare, text_of
from ncc.dialects.shapes import Shape as Extents


class OpaqueOp(Layer):
    """`kind` is its type; `words` are the `id=value` of its line, without shape hints.

    `content` are the bytes of its weights, int8 (n); absent where it has none. `hints`: rank, w, h,
    (d,) c of each result, as the file says them.
    """

    READS_COUNTED: ClassVar[bool] = True

    PROPERTIES = {
        "kind": PropertyDef(AnyAttr()),
        "words": PropertyDef(base(ArrayAttr)),
        "hints": OptPropertyDef(base(DenseArrayBase)),
    }

    content = Weight(lambda op: op.content_shape)

    @classmethod
    def of(
        cls,
        type: str,
        inputs: Sequence[SSAValue],
        words: Sequence[str],
        hints: Sequence[int] = (),
        *,
        name: str = "",
        blobs: Sequence[str] = ("",),
        line: int = 0,
    ) -> OpaqueOp:
        """A layer of this type; its results are unranked."""
        op = cls.make(inputs, name=name, blobs=blobs, line=line)
        op.properties["kind"] = StringAttr(type)
        op.properties["words"] = ArrayAttr([StringAttr(word) for word in words])
        if hints:
            op.properties["hints"] = DenseArrayBase.from_list(i32, hints)
        return op

    @property
    def type_name(self) -> str:
        return text_of(self.properties["kind"])

    @property
    def param_words(self) -> list[str]:
        """Its params as they are spelled."""
        words = self.properties["words"]
        return [text_of(word) for word in words.data] if isinstance(words, ArrayAttr) else []

    @property
    def content_shape(self) -> Extents | None:
        """The shape of its weights, which is whatever was found for it."""
        held = self.properties.get("content")
        return held.shape if isinstance(held, WeightAttr) else None

    @property
    def hinted_shapes(self) -> list[Shape | None]:
        """The shapes of the results by the hints; None where they do not say it."""
        hints = self.properties.get("hints")
        numbers = list(map(int, hints.get_values())) if isinstance(hints, DenseArrayBase) else []
        step = len(numbers) // max(1, len(self.results))
        if step not in (4, 5):
            return [None] * len(self.results)
        return [
            _hinted(numbers[k * step], numbers[k * step + 1 : (k + 1) * step])
            for k in range(len(self.results))
        ]


def _hinted(rank: int, extents: Sequence[int]) -> Shape | None:
    """The shape of w, h, (d,) c, of which `rank` count."""
    w, h, *d, c = extents
    shapes: dict[int, Shape] = {1: (w,), 2: (h, w), 3: (c, h, w), 4: (c, *d, h, w)}
    shape = shapes.get(rank)
    return None if shape is None or len(shape) != rank or min(shape) < 1 else shape


declare(OpaqueOp, "opaque", (0, None), (0, None))
