"""A rewrite that changes a result is found before it happens, and leaves no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn import check_rewrites
from ncc.compiler.ncnn.check_rewrites import kinds, refuse_changed_results, require_equal_results
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.trial_inputs import cropped
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, forward
from ncc.dialects.ncnn.layer import Layer, WeightAttr
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.param import to_attribute
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from tests.ncnn_text import parse

GOLDEN = Path(__file__).parents[2] / "ir" / "ncnn" / "canonicalize"
UNRANKED = "tensor<*xf32>"


class Wrong(LayerPattern):
    """Forgets a layer."""

    name = "forget"

    def match(self, op: Layer) -> Match | None:
        return (op,)

    def check(self, *layers: Any) -> str | None:
        return None

    def rewrite(self, rewriter: PatternRewriter, *layers: Any) -> None:
        forward(rewriter, layers[-1])


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
        if (match := pattern.match(op)) is not None and pattern.check(*match) is None
    ]


def test_values_of_any_type_are_tried() -> None:
    """The operand of a Noop before a Dequantize is int32."""
    module = network(
        """%r = ncnn.Noop(%x) ->
        %y = ncnn.Dequantize(%r) {scale_data = #ncnn.weight<[1] random 1 0 1.0 0.0>} ->""",
        "y",
    )
    [(pattern, match)] = legal_rewrites(module)
    require_equal_results(pattern, match)
    reason = refuse_changed_results(Wrong(), (layer(module, "Dequantize"),))
    assert reason is not None


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.mlir")), ids=lambda path: path.stem)
def test_canonicalization_is_right(path: Path) -> None:
    """Every rewrite of the golden files passes, with shapes and without."""
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
        def rewrite(self, rewriter: PatternRewriter, *layers: Any) -> None:
            layers[0].properties["slope"] = to_attribute("float", 0.5)

    body = "%r = ncnn.ReLU(%x) -> %a = ncnn.AbsVal(%r) -> %b = ncnn.AbsVal(%r) ->"
    module = network(body, "a")
    relu = layer(module, "ReLU")
    absolute = layer(module, "AbsVal")
    assert refuse_changed_results(Spoils(), (relu, absolute)) is not None


def test_a_constant_edited_in_place_is_found() -> None:
    """The constants that the layers read take part in the trial, whoever else reads them."""

    class Edits(Wrong):
        def rewrite(self, rewriter: PatternRewriter, *layers: Any) -> None:
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


def picture(body: str, output: str, extent: int = 203) -> ModuleOp:
    """`network` on a large picture."""
    module = network(body, output, ranked=False)
    infer_shapes(module, {"x": (4, extent, extent + 9)})
    return module


@pytest.mark.parametrize(("limit", "kind"), [(2.5, "random values"), (1e9, "infinities")])
def test_a_corner_of_a_picture_tells_as_much(limit: float, kind: str) -> None:
    """What a rewrite changes on the whole it changes on a corner, on every kind of values."""
    module = picture(f"%r = ncnn.Clip(%x) {{min = -{limit}, max = {limit}}} ->", "r")
    reason = refuse_changed_results(Wrong(), (layer(module, "Clip"),))
    assert reason is not None and reason.startswith(f"on {kind} of shape 4x203x212 it changes ")


def test_a_rewrite_may_rest_on_the_whole_shape() -> None:
    """A Crop that keeps all of the picture is no layer, though it would cut a smaller one."""
    shape = "{outw = 212 : i32, outh = 203 : i32, outc = 4 : i32}"
    padded = "%r = ncnn.Interp(%x) {resize_type = 1 : i32, output_height = 203 : i32, "
    for body, type in (
        (f"%r = ncnn.Crop(%x) {shape} ->", "Crop"),
        (padded + "output_width = 212 : i32} ->", "Interp"),
    ):
        module = picture(body, "r")
        assert refuse_changed_results(Wrong(), (layer(module, type),)) is None


def test_a_changed_shape_of_a_large_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the whole is never computed, its shape is compared all the same."""
    monkeypatch.setattr(check_rewrites, "MOST_WORK", -1)
    module = picture("%r = ncnn.Padding(%x) {value = 0.0} ->", "r")
    assert refuse_changed_results(Wrong(), (layer(module, "Padding"),)) is None
    module = picture("%r = ncnn.Padding(%x) {top = 1 : i32, value = 0.0} ->", "r")
    reason = refuse_changed_results(Wrong(), (layer(module, "Padding"),))
    assert reason is not None and "203x212" in reason


def test_large_pictures_are_cut_to_what_layers_accept() -> None:
    """Remainders stay, so that strides end as they did; a wide window needs a larger corner."""
    for kernel, wanted in ((3, (4, 11, 12)), (21, (4, 27, 28)), (100, (4, 203, 212))):
        body = f"%r = ncnn.Pooling(%x) {{kernel_w = {kernel} : i32, pad_mode = 1 : i32}} ->"
        assert cropped(picture(body, "r"), {"x": (4, 203, 212)}) == {"x": wanted}
