"""Layers of unknown types as operations."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.opaque import OpaqueOp
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.weights.weight import WeightAttr


def test_it_is_printed_and_parsed() -> None:
    """Also words beyond ASCII, and weights."""
    source = InputOp.make([], {"w": 1}, name="data", blobs=["data"])
    words = ["0=+1", '3="x y"', "4=größe"]
    op = OpaqueOp.of("Größe", source.results, words, [1, 7, 1, 1], blobs=["a"], name="mine")
    op.properties["content"] = WeightAttr.of(np.arange(8, dtype=np.int8))
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(NCNN)
    module = Parser(context, str(ModuleOp([source, op]))).parse_module()
    module.verify()
    again = module.body.block.last_op
    assert isinstance(again, OpaqueOp)
    assert (again.type_name, again.param_words) == ("Größe", words)
    assert again.hinted_shapes == [(7,)] and again.blob_names == ("a",)
    assert again.content is not None and again.content.array().tolist() == list(range(8))


@pytest.mark.parametrize(
    ("hints", "shape"),
    [
        ([1, 7, 1, 1], (7,)),
        ([2, 7, 6, 1], (6, 7)),
        ([3, 7, 6, 5], (5, 6, 7)),
        ([3, 7, 6, 1, 5], (5, 6, 7)),
        ([4, 7, 6, 3, 5], (5, 3, 6, 7)),
        ([0, 0, 0, 0], None),
        ([3, 0, 6, 5], None),
        ([4, 7, 6, 5], None),
        ([], None),
    ],
)
def test_hints(hints: list[int], shape: tuple[int, ...] | None) -> None:
    """Rank, w, h, c or rank, w, h, d, c; what is 0 is not said."""
    assert OpaqueOp.of("Mine", [], [], hints).hinted_shapes == [shape]


def test_it_says_nothing_of_what_it_computes() -> None:
    """No shape rule, no reference; two that say the same need not be the same."""
    op = OpaqueOp.of("Mine", [], [])
    with pytest.raises(NotImplementedError):
        op.reference_all([])
    assert op.get_canonicalization_patterns() == ()
    assert op.content is None
    op.verify()
