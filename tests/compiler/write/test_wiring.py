"""One blob, one reader; and everybody keeps the name that a caller knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.compiler.write.wiring import wire
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp

Parse: TypeAlias = Callable[[str], ModuleOp]

HEAD = """func.func @network() -> ({types}) attributes {{outputs = [{names}]}} {{
%data = ncnn.Input() {{layer = "data", blobs = ["data"]}} : () -> tensor<3xf32>
"""


def module(parse: Parse, body: str, **outputs: str) -> ModuleOp:
    """A network on an input `data`; outputs by name, each the SSA value that it is."""
    names = ", ".join(f'"{name}"' for name in outputs)
    types = ", ".join(["tensor<3xf32>"] * len(outputs))
    values = ", ".join(f"%{value}" for value in outputs.values())
    text = HEAD.format(types=types, names=names) + body
    return parse(f"{text}\nfunc.return {values} : {types} }}")


def layer(type: str, blob: str, *operands: str, layer: str | None = None) -> str:
    """One line of IR whose value is called like its blob."""
    given = ", ".join(f"%{operand}" for operand in operands)
    types = ", ".join(["tensor<3xf32>"] * len(operands))
    name = blob if layer is None else layer
    names = f'{{layer = "{name}", blobs = ["{blob if layer is None else ""}"]}}'
    return f"%{blob} = ncnn.{type}({given}) {names} : ({types}) -> tensor<3xf32>\n"


def wires(module: ModuleOp) -> list[str]:
    """The names of every line."""
    found = []
    for line in wire(Network.of(module)):
        type = "Split" if line.op is None else line.op.LAYER.type
        found.append(" ".join([type, line.name, *line.inputs, "->", *line.outputs]))
    return found


def test_two_readers_get_a_split(parse: Parse) -> None:
    """The layer that reads a value twice counts twice."""
    body = layer("AbsVal", "a", "data") + layer("BinaryOp", "b", "a", "a") + layer("TanH", "c", "a")
    assert wires(module(parse, body + layer("BinaryOp", "d", "b", "c"), d="d")) == [
        "Input data -> data",
        "AbsVal a data -> a",
        "Split splitncnn_0 a -> a_splitncnn_0 a_splitncnn_1 a_splitncnn_2",
        "BinaryOp b a_splitncnn_0 a_splitncnn_1 -> b",
        "TanH c a_splitncnn_2 -> c",
        "BinaryOp d b c -> d",
    ]


def test_an_output_that_is_read_too_is_a_blob_nobody_reads(parse: Parse) -> None:
    """Under its own name, which the layer that makes it then gives up."""
    body = layer("AbsVal", "a", "data") + layer("TanH", "b", "a")
    assert wires(module(parse, body, a="a", b="b"))[1:3] == [
        "AbsVal a data -> a_splitncnn",
        "Split splitncnn_0 a_splitncnn -> a_splitncnn_splitncnn_0 a",
    ]
    assert wires(module(parse, body, out="a", b="b"))[1:3] == [
        "AbsVal a data -> a",
        "Split splitncnn_0 a -> a_splitncnn_0 out",
    ]


def test_the_name_of_an_output_is_that_of_the_function(parse: Parse) -> None:
    """Whatever the layer that makes it called it."""
    assert wires(module(parse, layer("AbsVal", "a", "data"), prob="a"))[1:] == [
        "AbsVal a data -> prob"
    ]


def test_one_value_under_two_names(parse: Parse) -> None:
    """A Split has a blob for each."""
    assert wires(module(parse, layer("AbsVal", "a", "data"), x="a", y="a"))[1:] == [
        "AbsVal a data -> a",
        "Split splitncnn_0 a -> x y",
    ]


def test_an_output_that_is_an_input(parse: Parse) -> None:
    """The input keeps its name, and the output has its own."""
    body = layer("AbsVal", "a", "data")
    assert wires(module(parse, body, a="a", out="data")) == [
        "Input data -> data",
        "Split splitncnn_0 data -> data_splitncnn_0 out",
        "AbsVal a data_splitncnn_0 -> a",
    ]
    assert wires(module(parse, "", out="data"))[1:] == ["Split splitncnn_0 data -> out"]
    assert wires(module(parse, "", data="data")) == ["Input data -> data"]


def test_an_input_cannot_be_an_output_of_its_name_and_be_read(parse: Parse) -> None:
    """There is one blob of a name, and who reads it takes it."""
    with pytest.raises(Unsupported, match="leave it out"):
        wires(module(parse, layer("AbsVal", "a", "data"), a="a", data="data"))


def test_unnamed_layers_and_blobs_get_names(parse: Parse) -> None:
    """Names that no other layer or blob has, here or later."""
    body = layer("AbsVal", "x", "data", layer="") + layer("TanH", "absval_0", "x")
    assert wires(module(parse, body, y="absval_0"))[1:] == [
        "AbsVal absval_0_1 data -> absval_0_1",
        "TanH absval_0 absval_0_1 -> y",
    ]


def test_names_do_not_clash(parse: Parse) -> None:
    """A Split of ours beside one of the file's names; two layers that a rewrite called the same."""
    body = layer("AbsVal", "a", "data") + layer("TanH", "a_splitncnn_0", "a")
    body += layer("TanH", "splitncnn_0", "a") + layer("TanH", "c", "a_splitncnn_0", layer="a")
    found = wires(module(parse, body, out="splitncnn_0", c="c"))
    assert found[2] == "Split splitncnn_0_1 a -> a_splitncnn_0_1 a_splitncnn_1"
    assert found[-1] == "TanH a_1 a_splitncnn_0 -> c"
    blobs = [blob for line in found for blob in line.partition("-> ")[2].split()]
    assert len(set(blobs)) == len(blobs)


def test_a_blob_does_not_take_the_name_of_an_output(parse: Parse) -> None:
    """Of two values called `prob`, the output is the one."""
    body = layer("AbsVal", "prob", "data") + layer("TanH", "b", "prob")
    assert wires(module(parse, body, prob="b"))[1:] == [
        "AbsVal prob data -> prob_1",
        "TanH b prob_1 -> prob",
    ]


def test_splits_of_the_file_stay(network: Parse) -> None:
    """A network that is not rewritten keeps its wires; without its Splits it gets them back."""
    given = """
        Input data 0 1 data 0=3
        Split splitncnn_0 1 2 data data_splitncnn_0 data_splitncnn_1
        AbsVal a 1 1 data_splitncnn_0 a
        TanH b 1 1 data_splitncnn_1 b
        BinaryOp c 2 1 a b c
    """
    read = network(given)
    before = wires(read)
    assert before[1] == "Split splitncnn_0 data -> data_splitncnn_0 data_splitncnn_1"
    canonicalize(read)
    assert wires(read) == before


@pytest.mark.parametrize("name", ["a b", "0=1", "a\tb", "é" * 128])
def test_names_that_no_file_can_hold(parse: Parse, name: str) -> None:
    """A caller gave them; none is changed in silence."""
    given = module(parse, layer("AbsVal", "a", "data"), out="a")
    Network.of(given).function.attributes["outputs"] = ArrayAttr([StringAttr(name)])
    with pytest.raises(Unsupported, match="name"):
        wires(given)


def test_long_names_leave_room_for_what_is_appended(parse: Parse) -> None:
    """No name is longer than the 255 bytes that ncnn reads."""
    long = "x" * 255
    given = module(parse, layer("AbsVal", "a", "data") + layer("BinaryOp", "b", "a", "a"), b="b")
    Network.of(given).layers[1].attributes["blobs"] = ArrayAttr([StringAttr(long)])
    blobs = [blob for line in wire(Network.of(given)) for blob in line.outputs]
    assert max(map(len, blobs)) == 255 and len(set(blobs)) == len(blobs)


def test_layers_out_of_order_are_a_bug(parse: Parse) -> None:
    """A file is read from its start, so a reader stands behind what it reads."""
    given = module(parse, layer("AbsVal", "a", "data") + layer("TanH", "b", "a"), b="b")
    _, first, second = Network.of(given).layers
    block = Network.of(given).function.body.block
    block.detach_op(second)
    block.insert_op_before(second, first)
    with pytest.raises(CompilerBug, match="before what it reads"):
        wires(given)


NAMES = st.sampled_from(["a", "b", "a_splitncnn_0", "splitncnn_0", "a_1", ""])


@st.composite
def networks(draw: st.DrawFn) -> ModuleOp:
    """A network with any wires, and names that clash as much as they can."""
    inputs = [
        InputOp.make([], {"w": 3}, name="in", blobs=[f"in{k}"], shapes=[(3,)]) for k in (0, 1)
    ]
    ops: list[Layer] = [*inputs]
    for _ in range(draw(st.integers(1, 6))):
        operands = [draw(st.sampled_from(ops)).results[0] for _ in range(2)]
        given = {"op_type": draw(st.sampled_from([0, 1, 4]))}
        name, blob = draw(NAMES), draw(NAMES)
        ops.append(BinaryOpOp.make(operands, given, name=name, blobs=[blob], shapes=[(3,)]))
    count = draw(st.integers(1, 4))
    # An output may be called as the blob that it is not; never as an input.
    names = draw(st.lists(NAMES.filter(bool), min_size=count, max_size=count, unique=True))
    values = [draw(st.sampled_from(ops)).results[0] for _ in names]
    types = [value.type for value in values]
    function = FuncOp("network", ((), types), Region(Block([*ops, ReturnOp(*values)])))
    function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in names])
    return ModuleOp([function])


@settings(max_examples=60)
@given(module=networks())
def test_any_wires_come_back(module: ModuleOp) -> None:
    """Each blob has one maker and one reader at most; inputs, outputs and values are the same."""
    with TemporaryDirectory() as folder:
        files = Path(folder, "net.param"), Path(folder, "net.bin")
        write(module, *files)
        again = read(*files)
    lines = again.graph.layers
    made = [blob.text for line in lines for blob in line.outputs]
    used = [blob.text for line in lines for blob in line.inputs]
    assert len(set(made)) == len(made) and len(set(used)) == len(used)
    assert len({line.name.text for line in lines}) == len(lines)
    assert list(Network.of(again.module).inputs) == ["in0", "in1"]
    feeds = {"in0": np.array([1, 2, 3], np.float32), "in1": np.array([-1, 5, 2], np.float32)}
    wanted = interpret(module, feeds)
    found = interpret(again.module, feeds, list(wanted))
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in wanted.items()
    }
    assert set(wanted) <= set(Network.of(again.module).outputs)
