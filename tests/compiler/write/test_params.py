"""What a layer says comes back as it was said, whatever the layer is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, f32, i32
from xdsl.dialects.test import TestOp as Operands

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.read.param import read_text
from ncc.compiler.read.resolve import resolve_params
from ncc.compiler.write.params import shape_hints, type_and_params
from ncc.dialects.ncnn.layer import LAYERS, Layer, Param, ParamValue
from ncc.dialects.ncnn.movement.reshape import FlattenOp
from tests.crossed import in_turn

integers = st.integers(-(2**31), 2**31 - 1)
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"'))
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "int": integers,
    "float": singles,
    "ints": st.lists(integers, max_size=6).map(tuple),
    "floats": st.lists(singles, max_size=6).map(tuple),
    "string": texts.map(lambda text: text[:200]),
}

NEEDED: dict[str, dict[str, ParamValue]] = {"MultiHeadAttention": {"embed_dim": 8, "num_heads": 2}}
"""What the defaults of other params are computed from."""


def params_of(type: str) -> st.SearchStrategy[dict[str, ParamValue]]:
    """Any values for any of the params of a layer type."""
    declared = LAYERS[type].LAYER.params
    needed = NEEDED.get(type, {})
    optional = {n: KINDS[param.kind] for n, param in declared.items() if n not in needed}
    return st.fixed_dictionaries(
        {name: st.just(value) for name, value in needed.items()}, optional=optional
    )


def make(type: str, params: dict[str, ParamValue]) -> Layer:
    """A layer with params that nobody checks."""
    return LAYERS[type].make([], params, name="layer", blobs=["out"])


def read_back(type: str, words: list[str]) -> Layer:
    """The layer that a line with these words says."""
    line = " ".join([type, "layer 0 1 out", *words])
    graph = read_text("net.param", f"7767517\n1 1\n{line}\n".encode())
    params, problems, warnings = resolve_params(graph.source, graph.layers[0], LAYERS[type].LAYER)
    assert not problems and not warnings
    return make(type, params)


def said(param: Param[Any], op: Layer) -> bytes:
    """A param's value; for floats its bits."""
    value = getattr(op, param.name)
    if param.kind.startswith("float"):
        return np.float32(value).tobytes()
    return repr(value).encode()


@pytest.mark.parametrize("type", in_turn(LAYERS, every=4))
@settings(max_examples=4)
@given(data=st.data())
def test_params_come_back(type: str, data: st.DataObject) -> None:
    """Every param of every layer type, for any value that the format can hold."""
    op = make(type, data.draw(params_of(type)))
    written, words = type_and_params(op)
    assert written == type
    again = read_back(type, words)
    for name, param in op.LAYER.params.items():
        if name != "fixbug0":
            assert said(param, again) == said(param, op), name


@pytest.mark.parametrize("type", in_turn(LAYERS, every=4))
def test_defaults_are_left_out(type: str) -> None:
    """A param that is its default, said or not, is no word of the line."""
    fresh = make(type, NEEDED.get(type, {}))
    params = {name: getattr(fresh, name) for name in fresh.LAYER.params}
    assert type_and_params(make(type, params))[1] == type_and_params(fresh)[1]
    assert type_and_params(make(type, {}))[1] == []


@pytest.mark.parametrize(
    "type, params, words",
    [
        ("Convolution", {"kernel_w": 3, "kernel_h": 3, "pad_left": 1}, "1=3 4=1"),
        ("Convolution", {"kernel_w": 3, "kernel_h": 1}, "1=3 11=1"),
        ("Convolution", {"pad_left": 1, "pad_right": 0, "pad_bottom": 2}, "4=1 15=0 16=2"),
        ("Convolution", {"activation_params": (0.1, 6.0)}, "-23310=2,0.1,6.0"),
        ("Input", {"w": 4, "h": 3, "d": 2, "c": 1}, "0=4 1=3 2=1 11=2"),
        ("MemoryData", {"w": 4, "load_type": 0}, "0=4 21=0"),
        ("Slice", {"indices": (1, -2), "axis": 1}, "1=1 -23302=2,1,-2"),
        ("Reshape", {"w": -1, "batch_from": 0, "batch_to": 1}, "0=-1 12=0 13=1"),
        ("Reshape", {"shape_expr": "0w,*(0h,2)"}, '6="0w,*(0h,2)"'),
        ("Reduction", {"reduce_all": 0, "axes": (1,)}, "1=0 -23303=1,1 5=1"),
        ("Softmax", {"axis": 1}, "0=1 1=1"),
        ("ReLU", {"feature_mask": 6, "slope": 0.1}, "0=0.1 31=6"),
        ("PriorBox", {"step_mmdetection": 1, "center_mmdetection": 1}, "14=1 15=1"),
        ("ReLU", {"slope": -0.0}, "0=-0.0"),
    ],
)
def test_words(type: str, params: dict[str, ParamValue], words: str) -> None:
    """As ncnn's own files say it, with all that its writer loses."""
    assert type_and_params(make(type, params))[1] == words.split(" ")


@pytest.mark.parametrize(
    "type, params",
    [
        ("Clip", {"max": float("inf")}),
        ("ReLU", {"slope": float("nan")}),
        ("Reshape", {"shape_expr": 'a"b'}),
        ("Reshape", {"shape_expr": "0w\n0h"}),
        ("Reshape", {"shape_expr": "+" * 256}),
    ],
)
def test_what_the_format_cannot_say_is_refused(type: str, params: dict[str, ParamValue]) -> None:
    """Infinities, NaN, and strings that would not be read back."""
    with pytest.raises(Unsupported, match="layer"):
        type_and_params(make(type, params))


def test_a_property_that_ncnn_does_not_have_is_refused() -> None:
    """Nothing is dropped in silence."""
    op = make("ReLU", {})
    op.properties["colour"] = StringAttr("red")
    with pytest.raises(Unsupported, match="colour"):
        type_and_params(op)


def test_a_flatten_from_an_axis_is_a_reshape() -> None:
    """ncnn's Flatten has no axis; where the shape is known, a Reshape says the same."""
    x = Operands(result_types=[TensorType(f32, [2, 3, 4])]).results
    op = FlattenOp.make(x, name="flat", blobs=["y"], shapes=[(2, 12)])
    op.properties["axis"] = IntegerAttr(1, i32)
    assert type_and_params(op) == ("Reshape", ["0=12", "1=2"])
    unknown = FlattenOp.make(x, name="flat", blobs=["y"])
    unknown.properties["axis"] = IntegerAttr(1, i32)
    with pytest.raises(Unsupported, match="not known"):
        type_and_params(unknown)


@pytest.mark.parametrize(
    "shapes, words",
    [
        ([(5,)], "-23330=5,1,5,1,1,1"),
        ([(4, 5)], "-23330=5,2,5,4,1,1"),
        ([(3, 4, 5), (2, 3, 4, 5)], "-23330=10,3,5,4,1,3,4,5,4,3,2"),
        ([(5,), None], ""),
        ([(1, 2, 3, 4, 5)], ""),
    ],
)
def test_shape_hints(shapes: list[tuple[int, ...] | None], words: str) -> None:
    """Rank, w, h, d, c of every output; nothing where one is not known."""
    assert shape_hints(shapes) == words.split()
