"""Padding at the end of an image: how much, and its other readers."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.test import TestOp
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.rewrite.padded import padded
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.structured import pad_sides
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr
from tests.structured.evaluate import evaluate_value

IMAGE: Array = np.arange(12, dtype=np.float32).reshape(1, 3, 4)


def image() -> tuple[Builder, Tensor]:
    b = Builder(Block())
    return b, b.weight(WeightAttr.of(IMAGE))


def test_an_image_that_is_long_enough() -> None:
    """Nothing is written where there is nothing to add."""
    b, x = image()
    assert padded(x.value, 3, 4) is x.value and padded(x.value, 2) is x.value
    assert len(list(b.block.ops)) == 1


def test_cells_behind_the_last_axes() -> None:
    """Of rows and columns, or columns alone; an axis that is long enough stays."""
    _, x = image()
    wider, longer = padded(x.value, 6), padded(x.value, 5, 4)
    np.testing.assert_array_equal(evaluate_value(wider), np.pad(IMAGE, ((0, 0), (0, 0), (0, 2))))
    assert shape_of(longer) == (1, 5, 4)


def test_a_pad_that_grows() -> None:
    """There is one pad, of the same number; who read the old one reads what it was."""
    b, x = image()
    old = b.pad(x, (0, 1, 1), (0, 1, 1), 7.0)
    reader = TestOp([old.value])
    b.block.add_op(reader)
    expected = evaluate_value(old.value)
    grown = padded(old.value, 5, 9)
    (pad,) = [op for op in b.block.ops if isinstance(op, tensor.PadOp)]
    assert pad.result is grown and pad_value(pad) == 7.0
    assert pad_sides(pad) == ([0, 1, 1], [0, 1, 4])
    np.testing.assert_array_equal(evaluate_value(reader.operands[0]), expected)


def test_the_end_of_a_pad_that_grows() -> None:
    """A slice up to its end is longer by the same number; there is still one pad."""
    b, x = image()
    old = b.pad(x, (0, 1, 1), (0, 1, 1), 7.0)
    end = b.slice(old, (0, 2, 0), (1, 3, 6))
    expected = evaluate_value(end.value)
    longer = padded(end.value, 4, 8)
    pads = [op for op in b.block.ops if isinstance(op, tensor.PadOp)]
    assert [pad_sides(pad) for pad in pads] == [([0, 1, 1], [0, 2, 3])]
    wanted = np.pad(expected, ((0, 0), (0, 1), (0, 2)), constant_values=7.0)
    np.testing.assert_array_equal(evaluate_value(longer), wanted)
    np.testing.assert_array_equal(evaluate_value(end.value), expected)


def test_the_middle_of_a_pad() -> None:
    """What lies behind a slice is no padding: there it gets a pad of its own, of zeros."""
    b, x = image()
    old = b.pad(x, (0, 1, 1), (0, 1, 1), 7.0)
    middle = b.slice(old, (0, 1, 0), (1, 3, 6))
    expected = evaluate_value(middle.value)
    longer = padded(middle.value, 4, 6)
    np.testing.assert_array_equal(
        evaluate_value(longer), np.pad(expected, ((0, 0), (0, 1), (0, 0)))
    )


def test_the_begin_of_a_pad() -> None:
    """It grows the pad that it is all of but some padding behind it, which earlier tiles need. A
    part that ends within the image does not: what is behind it there is no padding.
    """
    b, x = image()
    whole = b.pad(x, [0, 1, 1], [0, 3, 4])
    part, within = b.slice(whole, [0, 0, 0], [1, 5, 6]), b.slice(whole, [0, 0, 0], [1, 3, 6])
    grown = padded(part.value, 9, 6)
    expected = np.pad(IMAGE, ((0, 0), (1, 5), (1, 4)))
    np.testing.assert_array_equal(evaluate_value(grown), expected)
    np.testing.assert_array_equal(evaluate_value(part.value), expected[:, :5, :6])
    longer = evaluate_value(padded(within.value, 4))
    np.testing.assert_array_equal(longer, expected[:, :3, :6])
    longer = evaluate_value(padded(within.value, 5, 6))
    np.testing.assert_array_equal(longer, np.pad(expected[:, :3, :6], ((0, 0), (0, 2), (0, 0))))
