"""Where blobs come from and how they are handed on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32

import ncc
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.plumbing import InputOp, stated_shape

Check = Callable[..., Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.layer("MemoryData", "Split", "Noop", "Dropout", "DeepCopy", "Packing")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "extents, shape",
    [
        ((5, 0, 0, 0), (5,)),
        ((5, 4, 0, 0), (4, 5)),
        ((5, 4, 0, 3), (3, 4, 5)),
        ((5, 4, 2, 3), (3, 2, 4, 5)),
        ((0, 0, 0, 0), (0,)),
        ((5, 0, 0, 3), (3, 0, 5)),
    ],
)
def test_stated_shape(extents: tuple[int, int, int, int], shape: tuple[int, ...]) -> None:
    """The outermost of w, h, d, c that is not 0 decides the rank."""
    assert stated_shape(*extents) == shape


def test_input_has_the_shape_of_its_params() -> None:
    """w, h, c are read from the inside out; every output has that shape."""
    op = InputOp.make([], {"w": 5, "h": 4, "c": 3}, blobs=["a", "b"])
    assert op.infer_all([]) == [(3, 4, 5), (3, 4, 5)]


def test_input_keeps_a_shape_it_has() -> None:
    """A shape that was set on the result wins over the params."""
    op = InputOp.make([], {"w": 5}, blobs=["a"], shapes=[(7,)])
    assert op.infer_all([]) == [(7,)]
    op.results[0]._type = TensorType(f32, [8])
    assert op.infer_all([]) == [(8,)]


def test_input_of_unknown_shape() -> None:
    """An Input without extents names its blob."""
    op = InputOp.make([], {}, blobs=["data"])
    op.verify()
    with pytest.raises(LayerError, match="shape of input 'data' is not known"):
        op.infer_all([])


def test_memory_data(check_layer: Check) -> None:
    """The weight is the value, raw or with a tag before it in the file."""
    check_layer("MemoryData", {"w": 3, "h": 2}, [], [X], expected=[X])
    check_layer("MemoryData", {"w": 3, "h": 2, "load_type": 0}, [], [X], expected=[X])


def test_split_and_noop_hand_on(check_layer: Check) -> None:
    """Split repeats its input; Noop pairs by position and drops what is left."""
    check_layer("Split", {}, [X], expected=[X, X, X])
    check_layer("Noop", {}, [X, X + 1, X + 2], expected=[X, X + 1])


@pytest.mark.parametrize("shape", [(5,), (5, 2), (5, 3, 2), (5, 1, 3, 2)])
def test_packing_fills_up(shape: tuple[int, ...], check_layer: Check) -> None:
    """With padding to whole packs, as in ncnn 1.0.20261020; else it is the input."""
    x = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    check_layer("Packing", {"out_elempack": 4}, [x], expected=[x])
    expected = np.concatenate([x, np.zeros((3, *shape[1:]), np.float32)])
    check_layer("Packing", {"out_elempack": 4, "use_padding": 1}, [x], expected=[expected])
    with pytest.raises(LayerError, match="out_elempack is 0"):
        check_layer("Packing", {"out_elempack": 0}, [x])


def test_dropout_scales(check_layer: Check) -> None:
    """y = x * scale."""
    check_layer("Dropout", {"scale": 0.5}, [X], expected=[X / 2])


@pytest.mark.parametrize("type", ["Split", "DeepCopy", "Dropout", "Noop"])
def test_what_moves_nothing_writes_nothing(type: str, expand: Callable[..., Any]) -> None:
    """A layer that hands its input on expands to no operation."""
    assert expand(type, {}, [(2, 3)]) == []


@pytest.mark.parametrize(
    "type, params, inputs, outputs, message",
    [
        ("MemoryData", {}, 0, 1, r"cannot have the shape \(0,\)"),
        ("MemoryData", {"w": -2}, 0, 1, r"cannot have the shape \(-2,\)"),
        ("MemoryData", {"w": 2, "c": 3}, 0, 1, r"cannot have the shape \(3, 0, 2\)"),
        ("MemoryData", {"w": 2, "load_type": 3}, 0, 1, "load_type is 3"),
        ("Noop", {}, 1, 2, "2 outputs cannot be taken from 1 inputs"),
    ],
)
def test_refused(
    type: str, params: Any, inputs: int, outputs: int, message: str, check_layer: Check
) -> None:
    """What a file may not say."""
    with pytest.raises(LayerError, match=message):
        check_layer(type, params, [X] * inputs, [], outputs=outputs)


@pytest.mark.parametrize("way", ["", "Split", "Reshape"])
def test_a_constant_of_words(way: str, tmp_path: Path) -> None:
    """Memory that is read as int32 holds int32, also by way of a layer that moves it."""
    lines = ["Input x 0 1 x 0=2", "MemoryData m 0 1 m 0=3"]
    lines += {
        "": ["Embed e 1 1 m e 0=2 1=4 3=8"],
        "Split": ["Split s 1 2 m p q", "Embed e 1 1 p f 0=2 1=4 3=8", "Embed g 1 1 q h 0=2 1=4 3=8"]
        + ["BinaryOp a 2 1 f h e 0=0"],
        "Reshape": ["Reshape r 1 1 m p 0=-1", "Embed e 1 1 p e 0=2 1=4 3=8"],
    }[way]
    lines.append("BinaryOp b 2 1 e x y 0=0")
    param, binary = tmp_path / "net.param", tmp_path / "net.bin"
    blobs = sum(int(line.split()[3]) for line in lines)
    param.write_text("\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""]))
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    count = 1 + (way == "Split")
    words = np.array([3, 0, 2], np.int32)
    binary.write_bytes(words.tobytes() + count * (bytes(4) + rows.tobytes()))
    ncc.optimize(param, binary, tmp_path / "out.param", tmp_path / "out.bin")
    x = np.array([10, 20], np.float32)
    for files in ((param, binary), (tmp_path / "out.param", tmp_path / "out.bin")):
        for level in (0, 2):
            found = ncc.compile(*files, opt_level=level)(x)
            np.testing.assert_array_equal(found, count * rows[[3, 0, 2]] + x)
