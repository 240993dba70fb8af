"""int8 contractions in fours compute what they did, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.channels.pack import Pack
from ncc.compiler.linalg.network import network_of
from ncc.compiler.linalg.sums.quads import QUAD, SplitQuads
from ncc.compiler.linalg.view import View, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import convert, saturated_int8
from ncc.dialects.weights.weight import ConstantOp, WeightAttr
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Array: TypeAlias = np.ndarray[Any, Any]


def bytes_of(*shape: int) -> WeightAttr:
    return WeightAttr.of(np.random.default_rng(3).integers(-127, 128, shape).astype(np.int8))


def quantized(b: Builder, x: Tensor) -> Tensor:
    """As int8; an image out of a convolution, so that its channels are in blocks."""
    if x.rank == 3:
        w = b.weight(WeightAttr.of(np.eye(x.shape[0], dtype=np.float32)))
        o, y, z, i = b.loops("o y z i")
        x = b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])
    at = b.loops_of(x.shape)
    return b.map(at, saturated_int8(x[at] * 60.0))


def convolution(kernel: int, outputs: int) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        x, w = quantized(b, x), b.weight(bytes_of(outputs, x.shape[0], kernel, kernel))
        size = [n - kernel + 1 for n in x.shape[1:]]
        o, y, z, i, k, m = b.loops(f"o y:{size[0]} z:{size[1]} i k m")
        term = convert(x[i, y + k, z + m], i32) * convert(w[o, i, k, m], i32)
        return b.sum((o, y, z), over=(i, k, m), of=term)

    return write


def product(b: Builder, x: Tensor) -> Tensor:
    x, w = quantized(b, x), b.weight(bytes_of(32, x.shape[0]))
    o, i = b.loops("o i")
    return b.sum((o,), over=(i,), of=convert(x[i], i32) * convert(w[o, i], i32))


def contractions(module: ModuleOp) -> list[View]:
    views = [View(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    sums = [view for view in views if view.product is not None and view.reduced]
    return [view for view in sums if view.yielded.type == i32]


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (convolution(1, 16), (16, 3, 4)),
        (convolution(3, 40), (32, 4, 5)),
        (convolution(3, 24), (24, 4, 5)),
        (product, (36,)),
    ],
)
def test_the_same_sums(make_network: MakeNetwork, write: Any, shape: tuple[int, ...]) -> None:
    """A loop of four more, in which the data lies side by side, and no tail left."""
    module = make_network([shape], write)
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    [before] = evaluate(network_of(module), [x])
    Pack().apply(Context(), module)
    SplitQuads().apply(Context(), module)
    module.verify()
    [view] = contractions(module)
    data, weights = (view.reads[k] for k in view.product or ())
    [four] = [d for d in view.reduced if weights.index[-1].bare == d]
    assert view.extents[four] == shape_of(weights.value)[-1] == QUAD
    assert data.index[-1].coefficient(four) == 1 and not view.tails
    [after] = evaluate(network_of(module), [x])
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(("write", "shape"), [(convolution(3, 16), (3, 5, 5)), (product, (7,))])
def test_what_stays(make_network: MakeNetwork, write: Any, shape: tuple[int, ...]) -> None:
    """Data whose neighbours along a loop lie apart, or do not fall into fours."""
    module = make_network([shape], write)
    Pack().apply(Context(), module)
    before = str(module)
    SplitQuads().apply(Context(), module)
    assert str(module) == before


def test_terms_that_do_not_count_stay_out(make_network: MakeNetwork) -> None:
    """A tail is dropped only where blocking made the weights behind it zeros."""
    module = make_network([(24, 4, 5)], convolution(3, 24))
    Pack().apply(Context(), module)
    [view] = contractions(module)
    assert view.tails
    constant = view.reads[1].value.owner
    assert isinstance(constant, ConstantOp)
    constant.properties["value"] = WeightAttr.of(constant.value.array())
    before = str(module)
    SplitQuads().apply(Context(), module)
    assert str(module) == before


def test_floats_stay(make_network: MakeNetwork) -> None:
    """A product of floats has no such instruction, and its order of sums counts."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((16, x.shape[0]), np.float32)))
        o, i = b.loops("o i")
        return b.sum((o,), over=(i,), of=x[i] * w[o, i])

    module = make_network([(32,)], write)
    before = str(module)
    SplitQuads().apply(Context(), module)
    assert str(module) == before
