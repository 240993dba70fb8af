"""Einsum: a sum of products, given by letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul

import numpy as np

from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integers,
    layer,
)
from ncc.dialects.size import is_equal

LETTERS = "ijklmnopqrstuvwx"
"""The letters of an equation; the axes of the result are the first of them, in this order."""

MAX_RANK = 4
TRACE = "ii"


@layer("Einsum", inputs=(1, None))
class EinsumOp(Layer):
    """out[i, j, ...] = the sum over all other letters of the product of the operands.

    The equation is a list of character codes, "ik,kj->ij". Of each operand it names all axes,
    outermost first; a letter that stands twice is a diagonal. The right side is the first one to
    four of the letters i, j, k, l, each of which stands on the left side too. "ii" alone is the
    trace, of shape [1].
    """

    equation = integers(0)

    @property
    def text(self) -> str:
        """The equation as it would be written."""
        return "".join(chr(code) if 0 < code < 128 else "?" for code in self.equation)

    @property
    def tokens(self) -> tuple[list[str], str]:
        """The letters of each operand, and those of the result."""
        if self.text == TRACE:
            return [TRACE], ""
        left, _, right = self.text.partition("->")
        return left.split(","), right

    def check(self) -> None:
        tokens, result = self.tokens
        if self.text != TRACE and not (result and LETTERS[:MAX_RANK].startswith(result)):
            raise self._invalid("its right side is none of i, ij, ijk, ijkl")
        if bad := sorted({*"".join(tokens)} - {*LETTERS}):
            raise self._invalid(f"{bad[0]!r} is no letter from i to x")
        if missing := sorted({*result} - {*"".join(tokens)}):
            raise self._invalid(f"{missing[0]!r} stands on the right side only")
        if len(tokens) != len(self.operands):
            raise self._invalid(f"it has {len(tokens)} operands, not {len(self.operands)}")

    def _invalid(self, why: str) -> LayerError:
        return LayerError(f"the equation {self.text!r} cannot be computed: {why}", "equation")

    def _extents(self, shapes: Sequence[Shape]) -> Mapping[str, int]:
        """How far each letter runs."""
        extents: dict[str, int] = {}
        for token, shape in zip(self.tokens[0], shapes, strict=True):
            if len(token) != len(shape):
                raise self._invalid(f"{token!r} does not name the axes of {shape}")
            for letter, extent in zip(token, shape, strict=True):
                if not is_equal(extents.setdefault(letter, extent), extent):
                    raise self._invalid(f"{letter!r} runs over {extents[letter]} and {extent}")
        return extents

    def infer(self, *shapes: Shape) -> Shape:
        extents = self._extents(shapes)
        return tuple(extents[letter] for letter in self.tokens[1]) or (1,)

    def reference(self, *inputs: Array) -> Array:
        tokens, result = self.tokens
        self._extents([x.shape for x in inputs])
        computed = np.einsum(f"{','.join(tokens)}->{result}", *inputs, optimize=True)
        return np.asarray(computed).reshape(self.infer(*(x.shape for x in inputs)))

    def lower(self, b: Builder, *inputs: Tensor) -> Tensor:
        tokens, result = self.tokens
        extents = self._extents([x.shape for x in inputs])
        letters = sorted(extents)
        at = dict(zip(letters, b.loops_of([extents[n] for n in letters]), strict=True))
        factors = [
            x[[at[letter] for letter in token]] for token, x in zip(tokens, inputs, strict=True)
        ]
        over = [at[letter] for letter in letters if letter not in result]
        product = reduce(mul, factors)
        to = [at[letter] for letter in result]
        return b.sum(to, over, product) if over else b.map(to, product)
