"""Weights as attributes: where the numbers are, in words."""

from __future__ import annotations

from io import StringIO
from math import prod

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.weights.derived import (
    Bf16Pairs,
    Bits,
    Blocked,
    Dequantized,
    Folded,
    Joined,
    Paired,
    Phases,
    Surplus,
    Taken,
    Transformed,
    Transposed,
    Unstrided,
)
from ncc.dialects.weights.narrow import FixedPoint, Narrow, Scales, ShortFixedPoint
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.stored import Encoding, Raw, Stored
from ncc.dialects.weights.weight import WeightAttr


def _counted(*shape: int) -> Weights:
    """0, 1, 2, ... in a shape."""
    return WeightAttr.of(np.arange(prod(shape)).reshape(shape)).data


BYTES = WeightAttr.of(np.arange(6, dtype=np.int8).reshape(2, 3)).data


@pytest.mark.parametrize(
    "weights",
    [
        Weights((2,), Stored("net.bin", 4, Encoding.FP16)),
        Weights((2,), Raw("net.data", 4, "f8")),
        WeightAttr.typed(np.array([True, False])).data,
        WeightAttr.typed(np.array([2**62 + 1])).data,
        Narrow(Weights((2,), Stored("net.bin", 4, Encoding.FP16))).weights,
        FixedPoint(_counted(3, 2), (0,)).weights,
        ShortFixedPoint(_counted(3, 16), (0,)).weights,
        Scales(_counted(3, 2, 4), (0, 2)).weights,
        Weights((2, 3), Random(7, 1, 0.5, 9.0)),
        Weights((2, 3), Random(7, 1, 1e-05, 1e-30)),
        Weights((2, 3), Random(7, 1, dtype="i1")),
        Blocked(_counted(3, 2), (0,), 2).weights,
        Folded(Blocked(_counted(5, 4), (1, 0), 4).weights, 2).weights,
        Transformed(_counted(2, 1, 2, 2), ((1.0, 0.5), (0.1, 0.0)), ((1.0, 0.0),)).weights,
        Transformed(_counted(3, 2, 2, 5), ((1.0, 0.5), (0.1, 0.0)), ((1.0, 0.0),), 1).weights,
        Transformed(_counted(2, 1, 2, 2), ((1e-05, 0.5),), ((-1e22, 0.0),)).weights,
        Dequantized(BYTES, _counted(2, 1), 6, 32, 4).weights,
        Paired(BYTES).weights,
        Surplus(BYTES, (1,)).weights,
        Bits(_counted(2, 3)).weights,
        Bf16Pairs(_counted(2, 2, 2, 2)).weights,
        Taken(_counted(3, 2), (2, 0, 2, 1)).weights,
        Transposed(_counted(3, 2, 4), (2, 0, 1)).weights,
        Joined(_counted(2, 1, 2, 3), 2).weights,
        Unstrided(_counted(2, 1, 3, 3), 2).weights,
        Phases(_counted(1, 2, 3), (((2, 0), (1, -1)),)).weights,
        Taken(Weights((8,), Taken(_counted(3, 2), (2, 0, 2, 1))), (7, 0)).weights,
    ],
)
def test_text(weights: Weights) -> None:
    """It prints what it parses."""
    attribute = WeightAttr(weights)
    out = StringIO()
    Printer(out).print_attribute(attribute)
    context = Context()
    context.load_dialect(NCNN)
    assert Parser(context, out.getvalue()).parse_attribute() == attribute


@pytest.mark.parametrize(
    "text",
    [
        "3 random 7 0 1.0 0.0",
        "[3, 5] taken of <[2, 5] random 7 0 1.0 0.0>",
        "[3, 5] taken 0 [1, 0, 1] of <[2, 5] random 7 0 1.0 0.0>",
        "[3, 5] taken [1, 0.5, 1] 0 of <[2, 5] random 7 0 1.0 0.0>",
        "[3, 5] taken [1, 0, 1] 0 0 of <[2, 5] random 7 0 1.0 0.0>",
        "[6, 5, 2] phases [[1, 0], [2, -1]] of <[3, 5, 3] random 7 0 1.0 0.0>",
    ],
)
def test_a_text_with_other_fields_is_refused(text: str) -> None:
    """An old one is no other source: the types of the fields say what to read."""
    context = Context()
    context.load_dialect(NCNN)
    with pytest.raises(ParseError):
        Parser(context, f"#ncnn.weight<{text}>").parse_attribute()
