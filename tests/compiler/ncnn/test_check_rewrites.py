"""A rewrite that changes a result is found before it happens, and leaves no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.check_rewrites import kinds, refuse_changed_results, require_equal_results
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, forward
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.layer import Layer, WeightAttr, to_attribute
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import MemoryDataOp

GOLDEN = Path(__file__).parents[2] / "ir" / "ncnn" / "canonicalize"
UNRANKED = "tensor<*xf32>"


class Wrong(LayerPattern):
    """Forgets a layer."""

    name = "forget"

    def look(self, op: Layer) -> Match | None:
        return (op,)

    def legal(self, *layers: Any) -> str | None:
        return None

    def become(self, rewriter: PatternRewriter, *layers: Any) -> None:
        forward(rewriter, layers[-1])


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, NCNN):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def network(body: str, output: str, *, ranked: bool = True) -> ModuleOp:
    """A network of one output; <-, -> and <-> stand for types of none, one and two operands."""
    operands = {"<->": f"{UNRANKED}, {UNRANKED}", "->": UNRANKED, "<-": ""}
    for arrow, types in operands.items():
        body = body.replace(arrow, f": ({types}) ---- {UNRANKED}")
    body = body.replace("----", "->")
    module = parse(
        f'builtin.module {{ func.func @network() -> ({UNRANKED}) attributes {{outputs = ["y"]}} {{'
        f'%x = ncnn.Input() {{w = 6 : i32, h = 5 : i32, c = 4 : i32, blobs = ["x"]}} : () -> '
        f"{UNRANKED} {body} func.return %{output} : {UNRANKED} }} }}"
    )
    if ranked:
        infer_shapes(module)
    return module


def layer(module: ModuleOp, type: str) -> Layer:
    return next(op for op in Network.of(module).layers if op.LAYER.type == type)


def legal_rewrites(module: ModuleOp) -> list[tuple[LayerPattern, Match]]:
    return [
        (pattern, match)
        for op in Network.of(module).layers
        for pattern in op.get_canonicalization_patterns()
        if isinstance(pattern, LayerPattern)
        if (match := pattern.look(op)) is not None and pattern.legal(*match) is None
    ]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.mlir")), ids=lambda path: path.stem)
def test_canonicalization_is_right(path: Path) -> None:
    """Every truth that is legal in the golden files passes, with shapes and without."""
    for with_shapes in (False, True):
        module = parse(path.read_text().partition("// -- becomes --")[0])
        if with_shapes:
            infer_shapes(module)
        for pattern, match in legal_rewrites(module):
            require_equal_results(pattern, match)


@pytest.mark.parametrize("ranked", [True, False])
def test_a_lost_layer_is_found(ranked: bool) -> None:
    """A ReLU that is dropped changes values; the network is as it was."""
    module = network("%r = ncnn.ReLU(%x) ->", "r", ranked=ranked)
    before = str(module)
    reason = refuse_changed_results(Wrong(), (layer(module, "ReLU"),))
    assert reason is not None and reason.startswith("on random values of shape ")
    assert str(module) == before
    with pytest.raises(CompilerBug, match="forget changes results"):
        require_equal_results(Wrong(), (layer(module, "ReLU"),))


def test_an_edge_is_found() -> None:
    """Limits that no random value reaches are lost; large values tell."""
    module = network("%r = ncnn.Clip(%x) {min = -1.0e9 : f32, max = 1.0e9 : f32} ->", "r")
    reason = refuse_changed_results(Wrong(), (layer(module, "Clip"),))
    assert reason is not None and reason.startswith("on infinities of shape 4x5x6 it changes ")


def test_a_promise_is_taken_at_its_word() -> None:
    """What a pattern says it differs on is not tried."""

    class Excused(Wrong):
        differs_on = ("infinities", "large")

    module = network("%r = ncnn.Clip(%x) {min = -1.0e9 : f32, max = 1.0e9 : f32} ->", "r")
    assert refuse_changed_results(Excused(), (layer(module, "Clip"),)) is None
    assert set(Excused.differs_on) < set(kinds())


@pytest.mark.parametrize(("exact", "refused"), [(True, True), (False, False)])
def test_bounds(exact: bool, refused: bool) -> None:
    """A factor of 1.00001 is within the bound of a fold, but not exact."""

    class Near(Wrong):
        pass

    Near.exact = exact
    module = network("%r = ncnn.Dropout(%x) {scale = 1.00001 : f32} ->", "r")
    reason = refuse_changed_results(Near(), (layer(module, "Dropout"),))
    assert (reason is not None) == refused


def test_another_shape_is_found() -> None:
    """A Flatten that is dropped leaves the rank, and breaks the types where they are known."""
    wanted = {True: "it fails: ", False: "it gives shape (4, 12, 11), not (528,)"}
    for ranked, text in wanted.items():
        module = network("%r = ncnn.Flatten(%x) ->", "r", ranked=ranked)
        reason = refuse_changed_results(Wrong(), (layer(module, "Flatten"),))
        assert reason is not None and text in reason


def test_results_that_others_read_are_compared() -> None:
    """A rewrite that keeps its own result and spoils what a layer outside reads is refused."""

    class Spoils(Wrong):
        def become(self, rewriter: PatternRewriter, *layers: Any) -> None:
            layers[0].properties["slope"] = to_attribute("float", 0.5)

    body = "%r = ncnn.ReLU(%x) -> %a = ncnn.AbsVal(%r) -> %b = ncnn.AbsVal(%r) ->"
    module = network(body, "a")
    relu = layer(module, "ReLU")
    absolute = layer(module, "AbsVal")
    assert refuse_changed_results(Spoils(), (relu, absolute)) is not None


def test_a_constant_edited_in_place_is_found() -> None:
    """The constants that the layers read take part in the trial, whoever else reads them."""

    class Edits(Wrong):
        def become(self, rewriter: PatternRewriter, *layers: Any) -> None:
            constant = layers[-1].operands[1].owner
            constant.properties["data"] = WeightAttr.of(np.zeros(4, np.float32))

    module = network(
        """%m = ncnn.MemoryData() {w = 4 : i32, data = #ncnn.weight<[4] random 1 0 1.0 0.0>} <-
        %y = ncnn.BinaryOp(%x, %m) {op_type = 2 : i32} <->
        %z = ncnn.BinaryOp(%y, %m) {op_type = 2 : i32} <->""",
        "z",
    )
    reason = refuse_changed_results(Edits(), (layer(module, "BinaryOp"),))
    assert reason is not None
    held = layer(module, "MemoryData")
    assert isinstance(held, MemoryDataOp) and held.values.array().any()
