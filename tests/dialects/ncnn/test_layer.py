"""What all layers share: how they are named in the text of a module."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from tests.ncnn_text import parse

NAMES = st.text(st.sampled_from('a_1-.%é²"\\ '), max_size=6) | st.text(max_size=8)


@settings(max_examples=40)
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
