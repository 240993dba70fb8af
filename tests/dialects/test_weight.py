"""Weights as attributes: where the numbers are, in words."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.printer import Printer

from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.sources import Narrow, Random, Weights
from ncc.dialects.stored import Encoding, Stored
from ncc.dialects.weight import WeightAttr

BYTES = WeightAttr.of(np.arange(6, dtype=np.int8).reshape(2, 3)).data


@pytest.mark.parametrize(
    "weights",
    [
        Weights((2,), Stored("net.bin", 4, Encoding.FP16)),
        Weights((2,), Narrow(Weights((2,), Stored("net.bin", 4, Encoding.FP16)))),
        Weights((2, 3), Random(7, 1, 0.5, 9.0)),
        Weights((2, 3), Random(7, 1, dtype="i1")),
        WeightAttr.of(np.arange(6).reshape(3, 2)).data.blocked((0,), 2),
        WeightAttr.of(np.arange(8).reshape(2, 1, 2, 2)).data.transformed(
            ((1.0, 0.5), (0.1, 0.0)), ((1.0, 0.0),)
        ),
        BYTES.dequantized(WeightAttr.of(np.ones((2, 1))).data, 6, 32, 4),
        BYTES.paired(),
        WeightAttr.of(np.arange(6).reshape(2, 3)).data.bits(),
        WeightAttr.of(np.arange(16).reshape(2, 2, 2, 2)).data.halves(),
        WeightAttr.of(np.arange(6).reshape(3, 2)).data.taken((2, 0, 2, 1)),
        WeightAttr.of(np.arange(12).reshape(2, 1, 2, 3)).data.joined(2),
        WeightAttr.of(np.arange(6).reshape(1, 2, 3)).data.phases((((2, 0), (1, -1)),)),
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
