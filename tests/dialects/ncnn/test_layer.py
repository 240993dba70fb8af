"""What all layers share: how they are named in the text of a module, what references compute in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ncc.compiler.verification.noise import rounds
from ncc.dialects.ncnn.detection.proposal import ProposalOp
from ncc.dialects.ncnn.layer import LAYERS, Array
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from tests.conftest import build_layer
from tests.ncnn_text import parse
from tests.recorded import Case

NAMES = st.text(st.sampled_from('a_1-.%é²"\\ '), max_size=6) | st.text(max_size=8)


# They make float32 of whatever they are given (places, boxes, rows, another element type), or
# compute nothing.
OF_FLOAT32 = {
    "ArgMax",
    "Cast",
    "DetectionOutput",
    "Input",
    "PriorBox",
    "YoloDetectionOutput",
    "Yolov3DetectionOutput",
}

CASES = 4


@settings(max_examples=8)
@example(["_1", "__2", "a", "a", "a_1_5", "1", "_", ""])
@given(st.lists(NAMES, min_size=1, max_size=8))
def test_blobs_of_any_name_are_printed_and_parsed(blobs: list[str]) -> None:
    """A name of a value is a hint that is right for the text; the blob's name stays as it is."""
    source = InputOp.make([], {"w": 1}, name="data", blobs=["data"])
    split = SplitOp.make([source.results[0]], name="split", blobs=blobs)
    copies = SplitOp.make([source.results[0]], name="copies", blobs=blobs)
    for result, like in zip(copies.results, split.results, strict=True):
        result.name_hint = like.name_hint
    body = Block([source, split, copies, ReturnOp(split.results[0])])
    function = FuncOp("network", ((), [split.results[0].type]), Region(body))
    function.attributes["outputs"] = ArrayAttr([StringAttr("out")])
    module = ModuleOp([function])
    again = Network.of(parse(str(module)))
    assert again.layers[1].blob_names == tuple(blobs)
    assert again.terminator.operands[0] is again.layers[1].results[0]
    if all(map(str.isascii, blobs)):  # what is not, is escaped, and parse as bytes
        assert str(again.function.parent_op()) == str(module)


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in OF_FLOAT32])
def test_float64_in_gives_float64_out(
    name: str, recorded_cases: Callable[[str], list[Case]]
) -> None:
    """And the same numbers, but for rounding."""
    cases = recorded_cases(name)
    for case in cases[:: max(1, len(cases) // CASES)]:
        inputs = case.inputs
        op = build_layer(name, case.params, inputs, case.weights, len(case.expected))
        wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]
        if rounds(op) or isinstance(op, ProposalOp) or all(x.dtype != np.float64 for x in wide):
            continue
        for found, plain in zip(op.reference_all(wide), op.reference_all(inputs), strict=True):
            assert plain.dtype != np.float32 or found.dtype == np.float64, case
            assert _same(found, plain), case


def _same(found: Array, plain: Array) -> bool:
    """Whether nearly all values are; few may jump, as places between two cells do."""
    largest = np.abs(plain, where=np.isfinite(plain), out=np.zeros(plain.shape)).max(initial=0)
    least = np.finfo(np.float32).smallest_normal
    near = np.isclose(found, plain, rtol=1e-3, atol=1e-4 * largest + least, equal_nan=True)
    return found.shape == plain.shape and bool(near.mean() > 0.99 if near.size else True)
