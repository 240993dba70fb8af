"""Arithmetic on shapes that inputs decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read_onnx.build_module import build
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.dialects.ncnn.layer import Array, Shape, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.onnx.operator import ConstantOp, SizesOp, constant_of, objects
from ncc.dialects.onnx.size_arithmetic import combined, divide, divide_exactly, remainder
from ncc.dialects.size import NeedsNumbers, Size, assuming, largest
from tests.onnx.models import model

H, W = Size.symbol("h", 8), Size.symbol("w", 6)
NUMBERS: dict[str, Array] = {
    "zero": np.array([0], np.int64),
    "one": np.array([1], np.int64),
    "two": np.array([2], np.int64),
    "three": np.array([3], np.int64),
    "four": np.array([4], np.int64),
    "rest": np.array([-1], np.int64),
    "half": np.array([0.5], np.float32),
    "twice": np.array([2.0], np.float32),
    "tenths": np.array([0.7], np.float32),
}


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    """A node that reads values by their names."""
    return helper.make_node(kind, inputs.split(), [output], output, **attributes)


SHAPE = [
    node("Shape", "x", "shape"),
    node("Slice", "shape two three", "rows"),
    node("Slice", "shape three four", "columns"),
]


def inferred(nodes: list[Any]) -> Network:
    """The network of nodes behind `SHAPE` with x: 1 x 3 x h x w, whose last result is y."""
    made = model([*SHAPE, *nodes], {"x": (1, 3, "h", "w")}, ["y"], NUMBERS)
    module = build(made, "net.onnx", Initializers(made.graph, "net.onnx"))
    infer_shapes(module, {"x": (1, 3, H, W)})
    return Network.of(module)


def held(nodes: list[Any]) -> list[int]:
    """The numbers that y is folded to."""
    owner = inferred(nodes).outputs["y"].owner
    assert isinstance(owner, SizesOp | ConstantOp)
    return list(owner.values) if isinstance(owner, SizesOp) else owner.array.reshape(-1).tolist()


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("Identity", "shape", "y")], [1, 3, H, W]),
        ([node("Size", "x", "y")], [3 * H * W]),
        ([node("Add", "rows one", "a"), node("Div", "a two", "y")], [(H + 1) // 2]),
        ([node("Concat", "rest rows", "y", axis=0)], [-1, H]),
        ([node("Gather", "shape rest", "y", axis=0)], [W]),
        ([node("ReduceProd", "shape", "y", keepdims=0)], [3 * H * W]),
        ([node("Mod", "columns four", "y")], [W % 4]),
        ([node("Max", "rows columns", "y")], [largest(H, W)]),
        ([node("Cast", "rows", "a", to=1), node("Mul", "a twice", "b"), node("Floor", "b", "y")],)
        + ([2 * H],),
        ([node("Ceil", "rows", "y")], [H]),
        ([node("Round", "rows", "a"), node("Abs", "a", "y")], [H]),
        ([node("Equal", "shape rest", "a"), node("Where", "a four shape", "y")], [1, 3, H, W]),
        ([node("Equal", "rows rest", "y")], [False]),
    ],
)
def test_arithmetic_on_shapes_folds(nodes: list[Any], expected: list[int]) -> None:
    """What is left are constants, and expressions of the extents of inputs."""
    assert list(map(str, held(nodes))) == list(map(str, expected))  # 16.0 == 2 * H, as numbers


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("Concat", "rows rest", "a", axis=0), node("Reshape", "x a", "y")], (H, 3 * W)),
        ([node("Concat", "rows columns", "a", axis=0), node("ConstantOfShape", "a", "y")], (H, W)),
        ([node("Slice", "x one rows two", "y")], (1, 3, H - 1, W)),
        ([node("Slice", "x zero rest three", "y")], (1, 3, H, W - 1)),
        ([node("Expand", "x shape", "y")], (1, 3, H, W)),
        ([node("Tile", "rows columns", "y")], (W,)),
        ([node("Concat", "x x", "y", axis=2)], (1, 3, 2 * H, W)),
        ([node("Squeeze", "x zero", "y")], (3, H, W)),
        ([node("Add", "x half", "y")], (1, 3, H, W)),
    ],
)
def test_operators_take_open_extents(nodes: list[Any], expected: Shape) -> None:
    """The shapes of results are expressions of those of inputs."""
    assert shape_of(inferred(nodes).outputs["y"]) == expected


def test_a_range_to_an_open_extent_has_an_open_number_of_elements() -> None:
    """Its elements are computed by the run."""
    numbers = [
        node("Squeeze", "zero", "from"),
        node("Squeeze", "columns", "to"),
        node("Squeeze", "two", "by"),
        node("Range", "from to by", "y"),
    ]
    assert shape_of(inferred(numbers).outputs["y"]) == ((W + 1) // 2,)


def test_a_range_of_floats_to_an_open_extent() -> None:
    """As grids of anchors have it."""
    nodes = [
        node("Cast", "columns", "wide", to=1),
        node("Squeeze", "wide", "to"),
        node("Sub", "half half", "none"),
        node("Squeeze", "none", "from"),
        node("Add", "half half", "unit"),
        node("Squeeze", "unit", "by"),
        node("Range", "from to by", "y"),
    ]
    assert shape_of(inferred(nodes).outputs["y"]) == (W,)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("Mul", "a half", "b"), node("Floor", "b", "y")], H // 2),
        ([node("Mul", "a half", "b"), node("Cast", "b", "y", to=7)], H // 2),
        ([node("Mul", "a half", "b"), node("Ceil", "b", "y")], (H + 1) // 2),
        ([node("Div", "a twice", "b"), node("Add", "b half", "c"), node("Floor", "c", "y")],)
        + ((H + 1) // 2,),
        ([node("Mul", "a tenths", "b"), node("Floor", "b", "y")], 7 * H // 10),
    ],
)
def test_floats_of_sizes_are_rounded(nodes: list[Any], expected: int) -> None:
    """Where they grow with an extent, the numbers are quotients of it."""
    assert held([node("Cast", "rows", "a", to=1), *nodes]) == [expected]


def test_floats_of_several_sizes_are_rounded_one_by_one() -> None:
    """Numbers may be among them."""
    nodes = [
        node("Cast", "shape", "a", to=1),
        node("Mul", "a half", "b"),
        node("Floor", "b", "y"),
    ]
    assert held(nodes) == [0, 1, H // 2, W // 2]


def test_a_size_that_rounds_with_no_order_needs_numbers() -> None:
    """Halves go to the next even number."""
    halves = [node("Cast", "rows", "a", to=1), node("Mul", "a half", "b"), node("Round", "b", "y")]
    made = model([*SHAPE, *halves], {"x": (1, 3, "h", "w")}, ["y"], NUMBERS)
    module = build(made, "net.onnx", Initializers(made.graph, "net.onnx"))
    infer_shapes(module, {"x": (1, 3, Size.symbol("h", 4096), W)})
    assert not isinstance(Network.of(module).outputs["y"].owner, SizesOp)


def test_a_shape_by_a_product_of_fractions_is_refused() -> None:
    """The nodes that lead there are named."""
    nodes = [
        node("Cast", "rows", "a", to=1),
        node("Mul", "a half", "part"),
        node("Cast", "columns", "wide", to=1),
        node("Mul", "part wide", "b"),
        node("Cast", "b", "c", to=7),
        node("ConstantOfShape", "c", "y"),
    ]
    with pytest.raises(Unsupported, match=r"c \(Cast\) <- b \(Mul\)"):
        inferred(nodes)


def test_extents_that_have_to_be_equal_are_assumed_to_be() -> None:
    """For other inputs another version is compiled."""
    with assuming() as found:
        inferred([node("Transpose", "x", "a", perm=[0, 1, 3, 2]), node("Shape", "a", "y")])
    assert not found
    h, w = Size.symbol("h", 8), Size.symbol("w", 8)
    made = model(
        [node("Transpose", "x", "a", perm=[1, 0]), node("Add", "x a", "y")],
        {"x": ("h", "w")},
        ["y"],
    )
    module = build(made, "net.onnx", Initializers(made.graph, "net.onnx"))
    with assuming() as found:
        infer_shapes(module, {"x": (h, w)})
    assert {str(one) for one in found} == {"h == w", "w == h"}


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (divide, 7 * H, np.int64(7).item(), H),
        (remainder, 4 * H + 1, 4, 1),
        (divide_exactly, 4 * H, 2, 2 * H),
    ],
)
def test_quotients_of_sizes(function: Any, x: int, y: int, expected: int) -> None:
    """They are rounded towards zero, which is down where nothing is negative."""
    assert function(x, y) == expected


def test_a_quotient_whose_sign_is_not_known_is_refused() -> None:
    """Rounding towards zero and down would differ."""
    with pytest.raises(NeedsNumbers, match="sign"):
        divide(H - 5, 2)


def test_numbers_of_arrays_are_broadcast() -> None:
    """A fraction beside sizes is not known."""
    some: Array = objects([H, 3], (2,))
    found = combined(divide, some, np.array([2]))
    assert found is not None and list(found) == [H // 2, 1]
    assert combined(divide, some, np.array([0.5])) is None


def test_constants_are_no_sizes() -> None:
    """A constant that shapes decide is none that `constant_of` gives."""
    assert constant_of(inferred([node("Identity", "shape", "y")]).outputs["y"]) is None
