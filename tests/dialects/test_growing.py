"""Extents that grow from run to run."""

from __future__ import annotations

from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import DYNAMIC_INDEX, Builtin, TensorType, f32
from xdsl.parser import Parser
from xdsl.printer import Printer

from ncc.dialects.growing import Growing, GrowingAttr, blob_type, growing_axis
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.layer import shape_of


def test_arithmetic_keeps_the_counter() -> None:
    """Rows may be added and taken away; two extents that grow have no sum."""
    past = Growing(1)
    total = past + 16
    assert (total.counter, int(total)) == (1, 16)
    assert 16 + past == total == Growing(1, 20) - 4
    with pytest.raises(TypeError):
        past + total


def test_only_the_same_extent_is_equal() -> None:
    """The same number is another extent by another counter, or by none."""
    assert Growing(0, 3) == Growing(0, 3) and hash(Growing(0, 3)) == hash(Growing(0, 3))
    assert Growing(0, 3) not in (3, Growing(1, 3), Growing(0, 4))
    assert (2, Growing(0)) != (2, 0)


def test_it_is_shown_as_what_the_first_run_adds() -> None:
    """A question mark, and what is more."""
    assert [str(Growing(0)), str(Growing(0, 16))] == ["?", "?+16"]


def test_types_hold_it() -> None:
    """A type says which counter and how much more, in text as well; a shape has it back."""
    shape = (8, Growing(2, 16), 64)
    kind = blob_type(f32, shape)
    assert kind == TensorType(f32, [8, DYNAMIC_INDEX, 64], GrowingAttr(Growing(2, 16)))
    out = StringIO()
    Printer(out).print_op(test.TestOp(result_types=[kind]))
    text = out.getvalue()
    assert "tensor<8x?x64xf32, #ncnn.growing<2, 16>>" in text
    context = Context()
    for dialect in (Builtin, NCNN, test.Test):
        context.load_dialect(dialect)
    found = shape_of(Parser(context, text).parse_op().results[0])
    assert found == shape and growing_axis(found) == 1
    assert growing_axis((8, 16)) is None
