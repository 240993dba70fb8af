"""Weights in blocks of small numbers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.parser import Parser

from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.layer import LayerError, WeightAttr
from ncc.dialects.ncnn.quantization.block_quantization import BlockQuantization, check_quantize_term
from ncc.dialects.weights.derived import unpack_integers
from ncc.dialects.weights.sources import Random, Weights


def test_numbers_stand_low_bits_first() -> None:
    """In two's complement, across the edges of bytes."""
    bytes_ = np.array([[0x21, 0xF3, 0x08]], np.uint8).view(np.int8)
    assert unpack_integers(bytes_, 4, 5).tolist() == [[1, 2, 3, -1, -8]]
    assert unpack_integers(bytes_, 8, 3).tolist() == [[0x21, -13, 8]]
    assert unpack_integers(bytes_, 6, 4).tolist() == [[-31, 12, 15, 2]]


def test_a_scale_divides_its_block() -> None:
    """The last block of a row may be short."""
    packed = WeightAttr.of(np.full((2, 40), 6, np.int8))
    scales = WeightAttr.of(np.array([[2.0, 3.0], [4.0, 6.0]]))
    form = BlockQuantization.of(800)
    assert form == BlockQuantization(bits=8, block=32, input_scales=False)
    values = form.dequantized(packed, scales, 40).array()
    assert values.shape == (2, 40) and values.dtype == np.float32
    np.testing.assert_allclose(values[0, [0, 31, 32, 39]], [3, 3, 2, 2], rtol=1e-6)
    np.testing.assert_allclose(values[1, [0, 31, 32, 39]], [1.5, 1.5, 1, 1], rtol=1e-6)


def test_terms() -> None:
    """Three sizes of numbers and of blocks, input scales or none; others mean int8, or nothing."""
    forms = {term: BlockQuantization.of(term) for term in range(1000)}
    named = {term for term, form in forms.items() if form}
    assert named == {100 * b + 10 * i + c for b in (4, 6, 8) for i in (0, 1) for c in (0, 1, 2)}
    assert forms[612] == BlockQuantization(bits=6, block=128, input_scales=True)
    for term in (4, 5, 6, 403, 420, 500, 803, 900):
        with pytest.raises(LayerError, match=f"quantize_term {term} is no form"):
            check_quantize_term(term)
    for term in (0, 1, 2, 101, -1, *named):
        check_quantize_term(term)


def test_dequantized_weights_are_said_in_text() -> None:
    """The attribute is parsed to what was printed."""
    form = BlockQuantization(bits=6, block=32, input_scales=False)
    packed = WeightAttr(Weights(form.packed_shape(4, 41), Random(7, 0, dtype="i1")))
    scales = WeightAttr(Weights(form.scales_shape(4, 41), Random(7, 1, 1.0, 20.0)))
    weight = form.dequantized(packed, scales, 41)
    context = Context()
    context.load_dialect(NCNN)
    parsed = Parser(context, str(weight)).parse_attribute()
    assert parsed == weight and isinstance(parsed, WeightAttr)
    np.testing.assert_array_equal(parsed.array(), weight.array())


def test_made_up_weights_keep_the_size_of_what_they_are_applied_to() -> None:
    """Bytes at random, and scales around the typical one, have the variance 1 / columns."""
    form = BlockQuantization(bits=4, block=32, input_scales=False)
    packed = WeightAttr(Weights(form.packed_shape(64, 900), Random(7, 0, dtype="i1")))
    scales = WeightAttr.of(np.full(form.scales_shape(64, 900), form.typical_scale(900)))
    assert form.dequantized(packed, scales, 900).array().std() == pytest.approx(1 / 30, rel=0.02)
