"""Einsum: sums of products by letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import required, string
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.scalar import Scalar
from ncc.dialects.shapes import shown
from ncc.dialects.size import is_equal

LEADING = "0123456789"
"""The letters of the axes that an ellipsis stands for; the last ones, as axes are broadcast."""


@operator("Einsum", since=12, inputs=(1, None))
class EinsumOp(Operator):
    """The sum over all letters that the result lacks, of the product of the operands.

    "..." are leading axes, which are broadcast. Without "->" the result has the letters that stand
    once, in their order.
    """

    equation = string()

    def terms(self, shapes: Sequence[Shape]) -> tuple[list[str], str]:
        """The letters of each operand and of the result, an ellipsis as digits."""
        text = required(self.equation, "equation").replace(" ", "")
        left, arrow, right = text.partition("->")
        terms = left.split(",")
        if len(terms) != len(shapes):
            raise LayerError(f"{text!r} has {len(terms)} operands, not {len(shapes)}", "equation")
        counts = [
            len(shape) - len(term.replace("...", "")) if "..." in term else 0
            for term, shape in zip(terms, shapes, strict=True)
        ]
        if min(counts) < 0 or max(counts) > len(LEADING):
            raise LayerError(f"{text!r} for {', '.join(map(shown, shapes))}", "equation")
        written = [
            term.replace("...", LEADING[len(LEADING) - count :])
            for term, count in zip(terms, counts, strict=True)
        ]
        leading = LEADING[len(LEADING) - max(counts) :]
        if not arrow:
            letters = "".join(written)
            once = [c for c in sorted(set(letters)) if letters.count(c) == 1 and c.isalpha()]
            return written, leading + "".join(once)
        return written, right.replace("...", leading)

    def extents(self, terms: Sequence[str], shapes: Sequence[Shape]) -> Mapping[str, int]:
        """How far each letter runs."""
        found: dict[str, int] = {}
        for term, shape in zip(terms, shapes, strict=True):
            if len(term) != len(shape):
                raise LayerError(f"{term!r} does not name the axes of {shown(shape)}", "equation")
            for letter, extent in zip(term, shape, strict=True):
                known = found.get(letter, 1)
                if 1 not in (known, extent) and not is_equal(known, extent):
                    raise LayerError(f"{letter!r} runs over {known} and {extent}", "equation")
                found[letter] = extent if known == 1 else known
        return found

    def infer(self, *shapes: Shape) -> Shape:
        terms, result = self.terms(shapes)
        extents = self.extents(terms, shapes)
        if not set(result) <= extents.keys() or len(set(result)) < len(result):
            raise LayerError(f"the result {result!r}", "equation")
        return tuple(extents[letter] for letter in result)

    def reference(self, *xs: Array) -> Array:
        terms, result = self.terms([x.shape for x in xs])
        letters = sorted(set("".join(terms)))
        numbers = [[letters.index(letter) for letter in term] for term in terms]
        flat = [part for pair in zip(xs, numbers, strict=True) for part in pair]
        return np.asarray(np.einsum(*flat, [letters.index(letter) for letter in result]))

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        """Two operands after each other: a letter that nobody needs behind them is summed."""
        terms, result = self.terms([x.shape for x in xs])
        extents = self.extents(terms, [x.shape for x in xs])
        found, letters = xs[0], terms[0]
        if len(xs) == 1:
            return b.reshape(
                _product(b, extents, [(found, letters)], result), self.infer(xs[0].shape)
            )
        for place in range(1, len(xs)):
            behind = "".join([result, *terms[place + 1 :]])
            both = dict.fromkeys(letters + terms[place])
            kept = result if place == len(xs) - 1 else "".join(c for c in both if c in behind)
            pair = [(found, letters), (xs[place], terms[place])]
            found, letters = _product(b, extents, pair, kept), kept
        return b.reshape(found, tuple(extents[letter] for letter in result))


def _product(
    b: Builder, extents: Mapping[str, int], factors: Sequence[tuple[Tensor, str]], kept: str
) -> Tensor:
    """The product of the factors, summed over all letters but some."""
    letters = sorted(set("".join(term for _, term in factors)) | set(kept))
    at = dict(zip(letters, b.loops_of([extents[letter] for letter in letters]), strict=True))
    read = [_element(x, term, at) for x, term in factors]
    product = read[0] if len(read) == 1 else read[0] * read[1]
    over = [at[letter] for letter in letters if letter not in kept]
    to = [at[letter] for letter in kept]
    return b.sum(to, over, product) if over else b.map(to, product)


def _element(x: Tensor, term: str, at: Mapping[str, AffineExpr]) -> Scalar:
    """The element at the loops of its letters; an extent of 1 is broadcast."""
    return x[[0 if n == 1 else at[letter] for letter, n in zip(term, x.shape, strict=True)]]
