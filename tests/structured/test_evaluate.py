"""The numpy evaluator computes what loops over the IR, point by point, would compute."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Region
from xdsl.parser import Parser

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.dialects.code import CodeOp, YieldOp
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, maximum, to_index
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr
from tests.structured import evaluate as evaluator
from tests.structured.contraction import Contraction
from tests.structured.evaluate import evaluate, evaluate_value
from tests.structured.loop_views import LoopViews, linear
from tests.structured.scalar_semantics import compute

RANDOM = np.random.default_rng(0)


def function(
    shapes: list[Shape],
    write: Callable[..., Tensor],
    name: str = "f",
    verify: bool = True,
) -> func.FuncOp:
    """A function whose result is what `write(builder, *arguments)` says."""
    block = Block(arg_types=[TensorType(f32, list(shape)) for shape in shapes])
    tensors = [Tensor(arg, shape) for arg, shape in zip(block.args, shapes, strict=True)]
    result = write(Builder(block, "test"), *tensors)
    block.add_op(func.ReturnOp(result.value))
    types = ([arg.type for arg in block.args], [result.value.type])
    op = func.FuncOp(name, types, Region(block))
    module = ModuleOp([op])
    if verify:
        module.verify()
    return op


def run(write: Callable[..., Tensor], *arrays: Array, **options: Any) -> Array:
    shapes = [array.shape for array in arrays]
    return evaluate(function(shapes, write), arrays, **options)[0]


def random(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def point_by_point(op: GenericOp, arrays: list[Array]) -> Array:
    """The definition of linalg.generic, one point of the loops after the other."""
    views = LoopViews.of(op, [array.shape for array in arrays])
    result = arrays[-1].astype(np.float64)
    rows = [[linear(e, len(views.extents)) for e in m.data.results] for m in op.indexing_maps.data]
    for point in product(*map(range, views.extents)):
        places = [
            tuple(sum(c * p for c, p in zip(row, (*point, 1), strict=True)) for row in index)
            for index in rows
        ]
        held = [*arrays[:-1], result]
        values = {
            argument: np.asarray(array[place], np.float64)
            for argument, array, place in zip(op.body.block.args, held, places, strict=True)
        }
        for inner in op.body.block.ops:
            if inner.results:
                operands = [values[operand] for operand in inner.operands]
                values[inner.results[0]] = compute(inner, operands, np.float64)
            else:
                result[places[-1]] = values[inner.operands[0]]
    return result


# --- against the definition -----------------------------------------------------------------


@st.composite
def operations(draw: st.DrawFn) -> tuple[func.FuncOp, list[Array]]:
    """A random generic: contraction, reduction or map, with compound indices."""
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    kinds = [draw(st.booleans()) for _ in extents]
    parallel = [d for d, reduced in enumerate(kinds) if not reduced]
    reduced = [d for d, is_reduced in enumerate(kinds) if is_reduced]
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    names = " ".join(f"d{d}:{extent}" for d, extent in enumerate(extents))
    indices = []
    for _ in range(2):
        used = draw(st.lists(st.sampled_from(range(len(extents))), unique=True, min_size=1))
        pair = len(used) > 1 and draw(st.booleans())
        factor = draw(st.integers(1, 3))
        indices.append((used, factor if pair else 0))
    shapes: list[Shape] = []
    for used, factor in indices:
        shape = [extents[d] for d in used]
        if factor:  # the last two loops share an index: last + factor * the one before
            shape[-2:] = [(shape[-2] - 1) * factor + shape[-1]]
        shapes.append(tuple(shape))
    kind = draw(st.sampled_from(["sum", "max", "min", "product"]))
    body = draw(st.sampled_from(["times", "plus", "first", "square"]))

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        d = b.loops(names)
        reads = []
        for (used, factor), t in zip(indices, (x, y), strict=True):
            at = [d[k] for k in used]
            if factor:
                at[-2:] = [at[-2] * factor + at[-1]]
            reads.append(t[at])
        a, c = reads
        of = {"times": a * c, "plus": a + c, "first": a, "square": maximum(a * a, c)}[body]
        to = [d[k] for k in parallel]
        return cast(Tensor, getattr(b, kind)(to, over=[d[k] for k in reduced], of=of))

    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    return function(shapes, write), arrays


@settings(max_examples=60)
@given(operations(), st.sampled_from([1, 7, 1 << 20]))
def test_random_operations(generic_op: tuple[func.FuncOp, list[Array]], chunk: int) -> None:
    """Any generic is what its definition says, in pieces of any size."""
    op, arrays = generic_op
    before = evaluator.CHUNK
    evaluator.CHUNK = chunk
    try:
        found = evaluate(op, arrays)[0]
    finally:
        evaluator.CHUNK = before
    generic = next(inner for inner in op.walk() if isinstance(inner, GenericOp))
    operands = [evaluate_operand(op, arrays, k) for k in range(len(generic.operands))]
    np.testing.assert_allclose(found, point_by_point(generic, operands), rtol=2e-4, atol=2e-4)


def evaluate_operand(op: func.FuncOp, arrays: list[Array], position: int) -> Array:
    """The operand of the only generic of a function."""
    clone = op.clone()
    generic = next(inner for inner in clone.walk() if isinstance(inner, GenericOp))
    value = generic.operands[position]
    cast(Any, clone.body.block.last_op).detach()
    clone.body.block.add_op(func.ReturnOp(value))
    return evaluate(clone, arrays)[0]


# --- operations that layers are made of ---------------------------------------------------


def convolve(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    o, y, z, i, ky, kx = b.loops("o y:4 x:3 i ky kx")
    return b.sum((o, y, z), over=(i, ky, kx), of=x[i, y * 2 + ky, z * 2 + kx] * w[o, i, ky, kx])


def test_convolution_is_a_matrix_product() -> None:
    """A strided convolution is recognized, and agrees with a sum over windows."""
    x, w = random(5, 9, 7), random(6, 5, 3, 3)
    op = function([x.shape, w.shape], convolve)
    generic = next(inner for inner in op.walk() if isinstance(inner, GenericOp))
    assert Contraction.of(generic.body.block) is not None
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))[:, ::2, ::2]
    expected = np.einsum("iyxkl,oikl->oyx", windows, w)
    np.testing.assert_allclose(evaluate(op, [x, w])[0], expected, rtol=1e-5, atol=1e-5)


def test_double_precision_accumulates_in_double() -> None:
    """With float64 a sum that float32 cannot hold is right, constants included."""
    x = np.array([1e8, 1.0, -1e8], np.float32)

    def write(b: Builder, x: Tensor) -> Tensor:
        (k,) = b.loops("k")
        return b.sum((), over=[k], of=x[k] + 0.5)

    assert run(write, x, dtype=np.float64)[0] == 2.5
    assert run(write, x)[0] != 2.5


def test_a_strided_result_keeps_what_it_does_not_reach() -> None:
    """`into` is copied, overwritten at the places of the map, and not changed itself."""

    def write(b: Builder, x: Tensor, old: Tensor) -> Tensor:
        (k,) = b.loops("k")
        return b.map((k * 2 + 1,), x[k], into=old)

    old = np.arange(6, dtype=np.float32)
    found = run(write, np.array([10, 20, 30], np.float32), old)
    np.testing.assert_array_equal(found, [0, 10, 2, 20, 4, 30])
    np.testing.assert_array_equal(old, np.arange(6))


def test_gathers_read_at_computed_places() -> None:
    """linalg.index, index tables and tensor.extract of a captured tensor."""
    x, rows = random(3, 5, 4), np.array([4, 0, 2])

    def write(b: Builder, x: Tensor) -> Tensor:
        table = b.table(rows)
        c, y, z = b.loops("c:3 y z:4")
        return b.map((c, y, z), x.at(b.index(c), table[y], b.index(z)))

    np.testing.assert_array_equal(run(write, x), x[:, rows])


def test_views_and_padding() -> None:
    """pad, slice, concat, collapse and expand move elements and change none."""
    x = random(4, 3, 5)

    def write(b: Builder, x: Tensor) -> Tensor:
        padded = b.pad(x, (0, 1, 0), (0, 0, 2), 7.0)
        part = b.slice(padded, (1, 0, 2), (2, 4, 5))
        both = b.concat([part, part], 0)
        return b.expand(b.collapse(both, [[0, 1], [2]]), [[0], [1, 2]], (16, 5, 1))

    padded = np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=7.0)[1:3, :, 2:]
    expected = np.concatenate([padded, padded]).reshape(16, 5, 1)
    np.testing.assert_array_equal(run(write, x), expected)


def test_softmax() -> None:
    """Four generics, one after the other, with a long reduction."""
    x = random(300, 2) * 20

    def write(b: Builder, x: Tensor) -> Tensor:
        k, r = b.loops("k r")
        largest = b.max((r,), over=(k,), of=x[k, r])
        k, r = b.loops("k r")
        powers = b.map((k, r), exp(x[k, r] - largest[r]))
        k, r = b.loops("k r")
        total = b.sum((r,), over=(k,), of=powers[k, r])
        k, r = b.loops("k r")
        return b.map((k, r), powers[k, r] / total[r])

    e = np.exp(x - x.max(axis=0))
    np.testing.assert_allclose(run(write, x), e / e.sum(axis=0), rtol=1e-5)


INTEGERS = """
func.func @f(%x : tensor<3x1000xi8>) -> tensor<3x3xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<3x3xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<3x3xi32>) -> tensor<3x3xi32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %x : tensor<3x1000xi8>, tensor<3x1000xi8>) outs(%init : tensor<3x3xi32>) {
    ^bb0(%a : i8, %b : i8, %acc : i32):
      %wide_a = arith.extsi %a : i8 to i32
      %wide_b = arith.extsi %b : i8 to i32
      %product = arith.muli %wide_a, %wide_b : i32
      %sum = arith.addi %acc, %product : i32
      linalg.yield %sum : i32
  } -> tensor<3x3xi32>
  func.return %y : tensor<3x3xi32>
}
"""


def test_integer_products_are_exact() -> None:
    """int8 factors, widened, sum up to exact int32."""
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, tensor.Tensor, Linalg):
        context.load_dialect(dialect)
    module = Parser(context, INTEGERS).parse_module()
    x = RANDOM.integers(-127, 128, (3, 1000)).astype(np.int8)
    found = evaluate(cast(func.FuncOp, module.body.block.first_op), [x])[0]
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, x.astype(np.int64) @ x.T.astype(np.int64))


# --- functions, constants, errors -----------------------------------------------------------


def test_calls_are_followed() -> None:
    """func.call runs the function of the module around it."""

    def double(b: Builder, x: Tensor) -> Tensor:
        (k,) = b.loops("k")
        return b.map((k,), x[k] * 2.0)

    inner = function([(3,)], double, name="double")
    kind = TensorType(f32, [3])
    block = Block(arg_types=[kind])
    call = func.CallOp("double", [block.args[0]], [kind])
    block.add_ops([call, func.ReturnOp(call.results[0])])
    outer = func.FuncOp("main", ([kind], [kind]), Region(block))
    inner.detach()
    ModuleOp([inner, outer]).verify()
    np.testing.assert_array_equal(evaluate(outer, [np.ones(3, np.float32)])[0], np.full(3, 2))


def test_constant_values_are_evaluated_alone() -> None:
    """A value of constants needs no function to run; one of arguments is refused."""
    block = Block(arg_types=[TensorType(f32, [2, 3])])
    b = Builder(block)
    weight = b.weight(WeightAttr.of(np.arange(6, dtype=np.float32).reshape(2, 3)))
    i, j = b.loops("i j")
    turned = b.map((j, i), weight[i, j] * 10.0)
    np.testing.assert_array_equal(evaluate_value(turned.value)[2], [20, 50])
    with pytest.raises(CompilerBug, match="depends on"):
        evaluate_value(b.collapse(Tensor(block.args[0], (2, 3)), [[0, 1]]).value)


def test_reading_outside_is_an_error() -> None:
    """A map that leaves its tensor, and a gather that does, are told with the axis."""

    def affine(b: Builder, x: Tensor) -> Tensor:
        (k,) = b.loops("k:3")
        return b.map((k,), x[k + 1])

    with pytest.raises(CompilerBug, match="axis 0 of extent 3 is read from 1 to 3"):
        evaluate(function([(3,)], affine, verify=False), [random(3)])

    def computed(b: Builder, x: Tensor) -> Tensor:
        (k,) = b.loops("k")
        return b.map((k,), x.at(to_index(x[k])))

    with pytest.raises(CompilerBug, match="axis 0 of extent 2 from 1 to 5"):
        run(computed, np.array([1, 5], np.float32))


def test_wrong_arguments_are_an_error() -> None:
    """The number and the shapes of the arguments are those of the function."""
    op = function([(3,)], lambda b, x: b.pad(x, (1,), (1,)))
    with pytest.raises(CompilerBug, match="1 arguments, not 0"):
        evaluate(op, [])
    with pytest.raises(CompilerBug, match=r"not \(4,\)"):
        evaluate(op, [random(4)])


def test_loops_are_not_evaluated() -> None:
    """rt.code is refused by its name."""

    def write(b: Builder, x: Tensor) -> Tensor:
        code = CodeOp([x.value], [TensorType(f32, [3])])
        code.body.block.add_op(YieldOp())
        b.block.add_op(code)
        return Tensor(code.results[0], (3,))

    with pytest.raises(Unsupported, match="rt.code"):
        run(write, random(3))


def test_values_die_after_their_last_use() -> None:
    """A chain of operations keeps no value that nobody reads any more."""

    def chain(b: Builder, x: Tensor) -> Tensor:
        for _ in range(10):
            x = b.pad(x, (1,), (0,))
        return x

    block = function([(2,)], chain).body.block
    dying = evaluator.last_uses(block)
    pads = [inner for inner in block.ops if isinstance(inner, tensor.PadOp)]
    assert len(pads) == 10
    assert all(dying[pad] == [pad.source] for pad in pads)
