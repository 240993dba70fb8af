"""int8 contractions in fours compute what they did, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.data_types.pack_vnni import PackVnni
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.target import AVX512, NEON_I8MM, OCTET, QUAD, TARGETS, Target
from ncc.dialects.casts import saturated_int8
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert
from ncc.dialects.weights.weight import ConstantOp, WeightAttr
from tests.compiler.linalg.reasons import reasons
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Array: TypeAlias = np.ndarray[Any, Any]


[AVX512VNNI] = [target for target in TARGETS if target.name == "avx512vnni"]


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


def convolution(
    kernel: int, outputs: int, stride: int = 1, dilation: int = 1, pad: int = 0
) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        x, w = quantized(b, x), b.weight(bytes_of(outputs, x.shape[0], kernel, kernel))
        x = b.pad(x, (0, pad, pad), (0, pad, pad), 3.0)
        size = [(n - dilation * (kernel - 1) - 1) // stride + 1 for n in x.shape[1:]]
        o, y, z, i, k, m = b.loops(f"o y:{size[0]} z:{size[1]} i k m")
        read = x[i, y * stride + k * dilation, z * stride + m * dilation]
        term = convert(read, i32) * convert(w[o, i, k, m], i32)
        return b.sum((o, y, z), over=(i, k, m), of=term)

    return write


def product(b: Builder, x: Tensor) -> Tensor:
    x, w = quantized(b, x), b.weight(bytes_of(32, x.shape[0]))
    o, i = b.loops("o i")
    return b.sum((o,), over=(i,), of=convert(x[i], i32) * convert(w[o, i], i32))


def depthwise(columns: int, stride: int = 1, dilation: int = 1) -> Any:
    def write(b: Builder, x: Tensor) -> Tensor:
        x, w = quantized(b, x), b.weight(bytes_of(x.shape[0], 3, columns))
        rows, columns_made = (
            x.shape[1] - 2,
            (x.shape[2] - dilation * (columns - 1) - 1) // stride + 1,
        )
        o, y, z, k, m = b.loops(f"o y:{rows} z:{columns_made} k m")
        term = convert(x[o, y + k, z * stride + m * dilation], i32) * convert(w[o, k, m], i32)
        return b.sum((o, y, z), over=(k, m), of=term)

    return write


def contractions(module: ModuleOp) -> list[LinalgOp]:
    views = [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    sums = [linalg_op for linalg_op in views if linalg_op.product is not None and linalg_op.reduced]
    return [linalg_op for linalg_op in sums if linalg_op.yielded.type == i32]


@pytest.mark.parametrize("target", [AVX512, NEON_I8MM], ids=lambda target: target.name)
@pytest.mark.parametrize(
    ("write", "shape", "quads"),
    [
        (convolution(1, 16), (16, 3, 4), 4),
        (convolution(3, 40), (32, 4, 5), 4),
        (convolution(3, 24), (24, 4, 5), 4),
        (product, (36,), 9),
        (convolution(3, 16), (3, 5, 5), 1),
        (convolution(3, 16, stride=2), (1, 7, 9), 1),
        (convolution(7, 20, stride=2, pad=3), (3, 12, 10), 2),
        (convolution(4, 16, stride=4), (3, 8, 8), 1),
        (product, (7,), 2),
    ],
)
def test_the_same_sums(
    make_network: MakeNetwork, write: Any, shape: tuple[int, ...], quads: int, target: Target
) -> None:
    """A loop of four more, in which the data lies side by side, and no tail left. It is one of
    eight where the target multiplies matrices, and groups of four are even in number.
    """
    module = make_network([shape], write)
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    [before] = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    PackVnni(target).apply(Context(), module)
    module.verify()
    [linalg_op] = contractions(module)
    data, weights = (linalg_op.reads[k] for k in linalg_op.product or ())
    count = OCTET if target.matrix_bytes and quads % 2 == 0 else QUAD
    [four] = [d for d in linalg_op.reduced if weights.index[-1].bare == d]
    assert linalg_op.extents[four] == shape_of(weights.value)[-1] == count
    assert data.index[-1].coefficient(four) == 1 and not linalg_op.valid_extents
    [after] = evaluate(network_of(module), [x])
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (depthwise(3), (32, 4, 7)),
        (depthwise(4), (24, 4, 9)),
        (depthwise(5, stride=2), (16, 3, 9)),
    ],
)
def test_windows_of_each_channel(
    make_network: MakeNetwork, write: Any, shape: tuple[int, ...]
) -> None:
    """Four columns of the window, whose elements lie a block apart, if a target takes them."""
    module = make_network([shape], write)
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    [before] = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    PackVnni(AVX512VNNI).apply(Context(), module)
    module.verify()
    [linalg_op] = contractions(module)
    data, weights = (linalg_op.reads[k] for k in linalg_op.product or ())
    [four] = [d for d in linalg_op.reduced if weights.index[-1].bare == d]
    assert linalg_op.extents[four] == shape_of(weights.value)[-1] == QUAD
    assert data.index[-2].coefficient(four) == 1 and is_unsigned(linalg_op)
    [after] = evaluate(network_of(module), [x])
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("target", "dilation", "reason"),
    [
        (AVX512VNNI, 2, "no numbers that it sums lie side by side"),
        (AVX512, 1, "it sums each channel by itself"),
    ],
)
def test_other_windows_of_each_channel_stay(
    make_network: MakeNetwork, target: Target, dilation: int, reason: str
) -> None:
    """The columns of dilated ones are no neighbours; other targets do not transpose bytes."""
    module = make_network([(32, 4, 9)], depthwise(3, dilation=dilation))
    PackChannels().apply(Context(), module)
    before = str(module)
    assert reasons(PackVnni(target), module) == [reason]
    assert str(module) == before


def is_unsigned(linalg_op: LinalgOp) -> bool:
    assert linalg_op.product is not None
    return isinstance(
        next(iter(linalg_op.body.args[linalg_op.product[0]].uses)).operation, arith.ExtUIOp
    )


def test_data_of_several_readers_loses_its_signs_once(make_network: MakeNetwork) -> None:
    """Under each view of it, and for those alone that sum its products with constants."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = quantized(b, x)
        halves = b.cut(x, 1, 0, 2), b.cut(x, 1, 2, 4)
        sums = []
        for k, y in enumerate((*halves, b.concat(halves, 1))):
            o, r, c, i = b.loops("o r c i")
            term = convert(y[i, r, c], i32) * convert(b.weight(bytes_of(16, 16))[o, i], i32)
            y = b.sum((o, r, c), over=(i,), of=term, init=float(k))
            sums.append(b.reshape(y, (prod(y.shape),)))
        at = b.loops_of(x.shape)
        plain = b.map(at, convert(x[at], i32))
        return b.concat([*sums, b.reshape(plain, (prod(plain.shape),))], 0)

    module = make_network([(16, 4, 3)], write)
    x = np.random.default_rng(4).standard_normal((16, 4, 3)).astype(np.float32)
    [before] = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    PackVnni().apply(Context(), module)
    module.verify()
    found = contractions(module)
    assert len(found) == 3 and all(map(is_unsigned, found))
    ops = [op for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    shifts = [op for op in ops if isinstance(op.body.block.first_op, arith.ConstantOp)]
    bytes_made = [op for op in shifts if element_of(op.results[0]) == element_of(op.operands[0])]
    assert len(bytes_made) == 1
    [after] = evaluate(network_of(module), [x])
    np.testing.assert_array_equal(before, after)


def test_signs_stay_where_one_point_reads_the_weights(make_network: MakeNetwork) -> None:
    """A product with a vector waits for its weights, not for what its signs cost."""
    module = make_network([(36,)], product)
    PackChannels().apply(Context(), module)
    PackVnni().apply(Context(), module)
    [linalg_op] = contractions(module)
    assert not is_unsigned(linalg_op)


def test_cells_behind_rows_are_one_more_pad(make_network: MakeNetwork) -> None:
    """An image that has a border gets a wider one, and none where its rows are long enough."""
    widths = []
    for shape in ((3, 5, 5), (3, 6, 6)):
        module = make_network([shape], convolution(3, 16, stride=2, pad=1))
        PackChannels().apply(Context(), module)
        PackVnni().apply(Context(), module)
        [linalg_op] = contractions(module)
        assert linalg_op.product is not None
        widths.append(shape_of(linalg_op.reads[linalg_op.product[0]].value)[-1])
        assert sum(isinstance(op, tensor.PadOp) for op in network_of(module).body.block.ops) == 1
    assert widths == [5 + 3, 6 + 2]


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (convolution(3, 16, dilation=2), (3, 7, 7)),
        (convolution(1, 16), (3, 5, 5)),
        (product, (1,)),
        (depthwise(4), (3, 5, 40)),
        (depthwise(4), (32, 5, 8)),
    ],
)
def test_what_stays(make_network: MakeNetwork, write: Any, shape: tuple[int, ...]) -> None:
    """Data whose neighbours along a loop lie apart, that has none, or that each result has for
    itself.
    """
    module = make_network([shape], write)
    PackChannels().apply(Context(), module)
    before = str(module)
    PackVnni().apply(Context(), module)
    assert str(module) == before


def test_terms_that_do_not_count_stay_out(make_network: MakeNetwork) -> None:
    """A tail is dropped only where blocking made the weights behind it zeros."""
    module = make_network([(24, 4, 5)], convolution(3, 24))
    PackChannels().apply(Context(), module)
    [linalg_op] = contractions(module)
    assert linalg_op.valid_extents
    constant = linalg_op.reads[1].value.owner
    assert isinstance(constant, ConstantOp)
    constant.properties["value"] = WeightAttr.of(constant.value.array())
    before = str(module)
    PackVnni().apply(Context(), module)
    assert str(module) == before


def test_floats_stay(make_network: MakeNetwork) -> None:
    """A product of floats has no such instruction, and its order of sums counts."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((16, x.shape[0]), np.float32)))
        o, i = b.loops("o i")
        return b.sum((o,), over=(i,), of=x[i] * w[o, i])

    module = make_network([(32,)], write)
    before = str(module)
    PackVnni().apply(Context(), module)
    assert str(module) == before
