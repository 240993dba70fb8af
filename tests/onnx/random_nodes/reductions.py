"""Random nodes that reduce, multiply matrices, quantize, and have graphs of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from tests.onnx.random_nodes.growth import MICROSOFT, Growth, Rejected, Value
from tests.onnx.random_nodes.movement import INT64

REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp"]


def reduce(g: Growth) -> None:
    kind = g.pick(REDUCTIONS)
    whole = g.chance(0.15) and kind in ("Sum", "Max", "Min", "Prod")
    x = g.some(lambda v: v.is_whole and v.exact) if whole else g.real()
    kept: dict[str, Any] = {"keepdims": g.number(0, 1)} if g.chance(0.8) else {}
    exact = kind in ("Sum", "Max", "Min", "L1")
    axes = g.axes(x) if x.rank and g.chance(0.85) else None
    if g.opset < (13 if kind == "Sum" else 18):
        if axes:
            kept["axes"] = axes
        g.node(f"Reduce{kind}", [x], exact=exact, **kept)
        return
    if axes is None and g.chance(0.5):
        kept["noop_with_empty_axes"] = 1
    given = [] if axes is None else [g.constant(axes, INT64)]
    g.node(f"Reduce{kind}", [x, *given], exact=exact, **kept)


def place(g: Growth) -> None:
    """Where the largest one is, or the largest few."""
    x = g.some(lambda v: v.exact and v.rank > 0 and v.dtype.kind in "f")
    axis = g.axis(x)
    if g.chance(0.6):
        last: dict[str, Any] = {"select_last_index": 1} if g.opset >= 12 and g.chance(0.3) else {}
        kind = g.pick(["ArgMax", "ArgMin"])
        g.node(kind, [x], exact=True, axis=axis, keepdims=g.number(0, 1), **last)
        return
    count = g.constant([g.number(1, x.least(axis))], INT64)
    g.node("TopK", [x, count], outputs=2, exact=True, axis=axis, largest=g.number(0, 1))


def cumulate(g: Growth) -> None:
    x = g.real(1, 4)
    flags: dict[str, Any] = {"exclusive": g.number(0, 1), "reverse": g.number(0, 1)}
    g.node("CumSum", [x, g.constant(g.axis(x), INT64)], exact=True, **flags)


def one_hot(g: Growth) -> None:
    x = g.some(lambda v: v.dtype == INT64 and v.exact and v.rank <= 3)
    depth = g.number(2, 6)
    values = g.constant([0, 1], np.float32)
    g.node("OneHot", [x, g.constant(depth, INT64), values], exact=True, axis=g.number(-1, x.rank))


def product(g: Growth) -> None:
    """Of matrices of any ranks."""
    x = g.real(1, 5)
    if g.chance(0.35):
        other = g.real(1, 5)
        if g.chance(0.5) and other.rank >= 2:
            order = [*range(other.rank - 2), other.rank - 1, other.rank - 2]
            (other,) = g.node("Transpose", [other], exact=True, perm=order)
        g.node("MatMul", [x, other], exact=True)
        return
    if not x.is_fixed(x.rank - 1):
        raise Rejected
    k = x.shape[-1]
    columns = g.pick([1, 3, 4, 16])
    front = [n if x.is_fixed(a) else 1 for a, n in enumerate(x.shape[:-2])][g.number(0, 2) :]
    shape = g.pick([[k, columns], [k, columns], [k], [*front, k, columns]])
    held = g.constant(g.numbers(shape))
    if g.chance(0.15) and x.rank >= 2 and x.is_fixed(x.rank - 2):
        g.node("MatMul", [g.constant(g.numbers([columns, x.shape[-2]])), x], exact=True)
    else:
        g.node("MatMul", [x, held], exact=True)


def gemm(g: Growth) -> None:
    x = g.some(lambda v: v.is_real and v.rank == 2)
    first, second = g.number(0, 1), g.number(0, 1)
    if not x.is_fixed(1 - first):
        raise Rejected
    k, columns = x.shape[1 - first], g.pick([1, 3, 8])
    held = g.constant(g.numbers([columns, k] if second else [k, columns]))
    rows = x.shape[first] if x.is_fixed(first) else 1
    biases = [(), (columns,), (1, columns), (rows, 1), (rows, columns)]
    bias = [g.constant(g.numbers(g.pick(biases)))] if g.chance(0.7) else []
    more: dict[str, Any] = {"alpha": 0.5} if g.chance(0.3) else {}
    more |= {"beta": g.pick([0.0, 2.0])} if g.chance(0.3) else {}
    g.node("Gemm", [x, held, *bias], exact=True, transA=first, transB=second, **more)


def einsum(g: Growth) -> None:
    x = g.real(1, 4)
    letters = "ijkl"[: x.rank]
    if not all(map(x.is_fixed, range(x.rank))):
        raise Rejected
    kept = [c for c in letters if g.chance(0.7)]
    order = "".join(kept[k] for k in g.rng.permutation(len(kept)))
    other = "".join(letters[k] for k in g.rng.permutation(x.rank)[: g.number(1, x.rank)]) + "z"
    held = g.constant(g.numbers([4 if c == "z" else x.shape[letters.index(c)] for c in other]))
    if g.opset >= 12:
        g.node("Einsum", [x, held], exact=True, equation=f"{letters},{other}->{order}z")


def recurrent(g: Growth) -> None:
    x = g.some(lambda v: v.is_real and v.rank == 3 and v.is_fixed(2))
    kind = g.pick(["LSTM", "GRU", "RNN"])
    gates, hidden = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], g.pick([1, 4, 8])
    direction = g.pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    shapes = [(ways, gates * hidden, x.shape[2]), (ways, gates * hidden, hidden)]
    given = [g.constant(g.numbers(shape) / 4, np.float32) for shape in shapes]
    if g.chance(0.6):
        given.append(g.constant(g.numbers([ways, 2 * gates * hidden]) / 4, np.float32))
    linear: dict[str, Any] = {"linear_before_reset": g.number(0, 1)} if kind == "GRU" else {}
    g.node(
        kind, [x, *given], outputs=g.number(1, 2), hidden_size=hidden, direction=direction, **linear
    )


# --- quantization ---------------------------------------------------------------------------------


def quantized(g: Growth, x: Value) -> tuple[Value, Value, Value]:
    """Bytes of a value, with scale and zero point; those of exact values lie between no two."""
    g.is_quantized = True
    signed = g.chance(0.5)
    largest = max(float(np.abs(array).max()) for array in x.arrays)
    scale = g.constant(2.0 ** np.ceil(np.log2(largest / 100)), np.float32)
    zero = g.constant(
        g.pick([0, 3, -5]) if signed else g.pick([128, 120]), np.int8 if signed else np.uint8
    )
    return g.node("QuantizeLinear", [x, scale, zero])[0], scale, zero


def quantize(g: Growth) -> None:
    """There, a movement of bytes or none, and back."""
    x = g.real(0, 5)
    bytes, scale, zero = quantized(g, x)
    if x.rank and g.chance(0.4):
        (bytes,) = g.node("Transpose", [bytes], perm=g.rng.permutation(x.rank).tolist())
    g.node("DequantizeLinear", [bytes, scale, zero])


def quantized_weights(g: Growth, shape: list[int], axis: int) -> tuple[Value, Value, Value]:
    """Weights, with one scale or one for each output."""
    held = g.constant(g.rng.integers(-100, 101, shape), np.int8)
    if g.chance(0.5):
        scales = g.constant(np.full(shape[axis], 2.0**-6), np.float32)
        return held, scales, g.constant(np.zeros(shape[axis]), np.int8)
    return held, g.constant(2.0**-6, np.float32), g.constant(0, np.int8)


def quantized_convolution(g: Growth) -> None:
    x = g.some(lambda v: v.is_real and v.rank in (3, 4) and v.is_fixed(1))
    bytes, scale, zero = quantized(g, x)
    outputs, kernel = g.pick([1, 4, 16]), [g.pick([1, 3])] * (x.rank - 2)
    weights, by, at = quantized_weights(g, [outputs, x.shape[1], *kernel], 0)
    given: dict[str, Any] = {"pads": [kernel[0] // 2] * 2 * len(kernel)} if g.chance(0.6) else {}
    if g.chance(0.5):
        given["strides"] = [2] * len(kernel)
    if g.chance(0.5):
        (y,) = g.node("DequantizeLinear", [bytes, scale, zero])
        axis: dict[str, Any] = {"axis": 0} if by.rank else {}
        (w,) = g.node("DequantizeLinear", [weights, by, at], **axis)
        (made,) = g.node("Conv", [y, w], **given)
        if g.chance(0.5):
            (made,) = g.node("Relu", [made])
        quantized(g, made)
        return
    out = [g.constant(2.0**-2, np.float32), g.constant(g.pick([0, 7]), bytes.dtype)]
    (made,) = g.node("QLinearConv", [bytes, scale, zero, weights, by, at, *out], **given)
    g.node("DequantizeLinear", [made, *out])


def quantized_product(g: Growth) -> None:
    x = g.some(lambda v: v.is_real and 2 <= v.rank <= 4 and v.is_fixed(v.rank - 1))
    bytes, scale, zero = quantized(g, x)
    kind = g.pick(["QLinearMatMul", "MatMulInteger", "QLinearAdd"])
    if kind == "QLinearAdd":
        out = [g.constant(2.0**-3, np.float32), g.constant(4, bytes.dtype)]
        given = [bytes, scale, zero, bytes, scale, zero, *out]
        (made,) = g.node(kind, given, domain=MICROSOFT)
        g.node("DequantizeLinear", [made, *out])
        return
    weights = g.constant(g.rng.integers(-100, 101, [x.shape[-1], g.pick([1, 5, 16])]), np.int8)
    by, at = g.constant(2.0**-6, np.float32), g.constant(g.pick([0, 2]), np.int8)
    if kind == "MatMulInteger":
        (made,) = g.node(kind, [bytes, weights, zero, at])
        (made,) = g.node("Cast", [made], to=1)
        g.node("Mul", [made, g.constant(2.0**-10, np.float32)])
        return
    out = [g.constant(2.0**-2, np.float32), g.constant(g.pick([0, 7]), bytes.dtype)]
    (made,) = g.node(kind, [bytes, scale, zero, weights, by, at, *out])
    g.node("DequantizeLinear", [made, *out])


def dynamic(g: Growth) -> None:
    g.is_quantized = True
    bytes, scale, zero = g.node("DynamicQuantizeLinear", [g.real(1, 4)], outputs=3)
    g.node("DequantizeLinear", [bytes, scale, zero])


# --- graphs of their own --------------------------------------------------------------------------


def branches(g: Growth) -> None:
    """An If of a constant, or of what the run finds."""
    x = g.real()
    found = g.some(lambda v: v.exact and v.is_real)
    if g.chance(0.5):
        axes: dict[str, Any] = {"keepdims": 0}
        (most,) = g.node("ReduceMax", [found], exact=True, **axes)
        (condition,) = g.node("Greater", [most, g.constant(1, np.float32)], exact=True)
    else:
        condition = g.constant(g.chance(0.5), np.bool_)
    graphs = {}
    for way, kind in (("then_branch", "Relu"), ("else_branch", g.pick(["Neg", "Tanh"]))):
        name = g.name(way)
        node = helper.make_node(kind, [x.name], [name])
        graphs[way] = helper.make_graph(
            [node], name, [], [helper.make_empty_tensor_value_info(name)]
        )
    node = helper.make_node("If", [condition.name], [g.name("if")], **graphs)
    g.added(node, {condition.name: condition, x.name: x}, exact=False)


def loop(g: Growth) -> None:
    """x + k, for each k of a few; all of them are stacked as well."""
    x = g.real(0, 4)
    names = [g.name(kind) for kind in ("place", "going", "carried", "cast", "next", "seen")]
    at, going, carried, floats, after, seen = names
    nodes = [
        helper.make_node("Cast", [at], [floats], to=1),
        helper.make_node("Add", [carried, floats], [after]),
        helper.make_node(g.pick(["Tanh", "Neg"]), [after], [seen]),
        helper.make_node("Identity", [going], [going + "_"]),
    ]
    kind = helper.make_tensor_value_info
    inputs = [kind(at, 7, []), kind(going, 9, []), kind(carried, 1, None)]
    outputs = [kind(going + "_", 9, []), kind(after, 1, None), kind(seen, 1, None)]
    body = helper.make_graph(nodes, g.name("body"), inputs, outputs)
    count, on = g.constant(g.number(1, 4), INT64), g.constant(True, np.bool_)
    made = g.name("loop")
    node = helper.make_node("Loop", [count.name, on.name, x.name], [made, made + "_1"], body=body)
    g.added(node, {one.name: one for one in (count, on, x)}, exact=False)


GROWING = [
    *[reduce] * 3,
    place,
    cumulate,
    one_hot,
    *[product] * 4,
    gemm,
    gemm,
    einsum,
    recurrent,
    quantize,
    quantized_convolution,
    quantized_product,
    dynamic,
    branches,
    loop,
]
