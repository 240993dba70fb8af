"""Index notation: what each word of it becomes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import TensorType, bf16, f32, i1, i32, i64
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block

from ncc.dialects.casts import cast
from ncc.dialects.element import ELEMENTS, as_stored, element_of, is_half, is_integer
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import equal, select, to_index
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr
from tests.structured.evaluate import evaluate_value
from tests.typed import every_type, numbers, run, whole


def builder(*shapes: Shape, element: Attribute = f32) -> tuple[Builder, list[Tensor]]:
    """One that writes at the end of a block, and the block's arguments."""
    block = Block(arg_types=[TensorType(element, shape) for shape in shapes])
    return Builder(block), [Tensor(x, s) for x, s in zip(block.args, shapes, strict=True)]


def generic_of(x: Tensor) -> GenericOp:
    """What made a value."""
    assert isinstance(x.value.owner, GenericOp)
    return x.value.owner


def names_of(b: Builder) -> list[str]:
    return [op.name for op in b.block.ops]


def test_a_loop_has_the_extent_of_the_axis_that_it_indexes_alone() -> None:
    """A window's place has none: y says its own, and an empty operand says ky's."""
    b, (x,) = builder((3, 10))
    i, y, ky = b.loops("i y:4 ky:3")
    out = b.max((i, y), over=(ky,), of=x[i, y * 2 + ky])
    assert out.shape == (3, 4)
    given = [element for element in generic_of(out).inputs if element != x.value]
    assert [element.type for element in given] == [TensorType(f32, [3])]


def test_loops_that_nobody_uses_leave_no_gap() -> None:
    """Of two loops that are named, the one in use is the first of the operation."""
    b, (x,) = builder((5,))
    _, j = b.loops("i:7 j")
    op = generic_of(b.map((j,), x[j]))
    assert len(op.iterator_types) == 1
    assert [m.data.num_dims for m in op.indexing_maps] == [1, 1]


def test_one_place_is_read_once() -> None:
    """However often an expression has it, it is one operand."""
    b, (x,) = builder((5,))
    (i,) = b.loops("i")
    assert len(generic_of(b.map((i,), x[i] * x[i] + x[i])).inputs) == 1


@pytest.mark.parametrize(
    "write, error, text",
    [
        (lambda b, x, i, j: x[i], IndexError, "1 indices"),
        (lambda b, x, i, j: x.at(b.index(i)), IndexError, "1 indices"),
        (lambda b, x, i, j: b.map((i,), x[i + j, j] * 2.0), ValueError, "no extent"),
        (lambda b, x, i, j: b.map((i,), x[i, i]), ValueError, "over 4 and over 6"),
        (lambda b, x, i, j: b.map((i * 2, j), x[i, j]), ValueError, "to write into"),
        (lambda b, x, i, j: b.map((i, j), x[i, j], into=b.empty((4, 9))), ValueError, "6 fills 9"),
        (lambda b, x, i, j: b.sum((i,), (j + 1,), x[i, j]), TypeError, "no loop"),
        (lambda b, x, i, j: b.reshape(x, (5, 5)), ValueError, "as many elements"),
    ],
)
def test_what_makes_no_sense(
    write: Callable[..., object], error: type[Exception], text: str
) -> None:
    """Whoever writes an expansion is told at once, not by what comes of it."""
    b, (x,) = builder((4, 6))
    with pytest.raises(error, match=text):
        write(b, x, *b.loops("i j"))


def test_a_sum_over_all_is_a_vector_of_one() -> None:
    """Every result has an axis."""
    b, _ = builder()
    x = b.weight(WeightAttr.of(np.arange(6, dtype=np.float32).reshape(2, 3)))
    i, j = b.loops("i j")
    total = b.sum((), over=(i, j), of=x[i, j])
    assert total.shape == (1,) and evaluate_value(total.value).tolist() == [15.0]


def test_integers_are_folded_by_operations_of_integers() -> None:
    """Their type says how."""
    b, (x,) = builder((4, 6), element=i32)
    for fold, operation in ((b.sum, arith.AddiOp), (b.max, arith.MaxSIOp)):
        i, j = b.loops("i j")
        found = generic_of(fold((i,), (j,), x[i, j], init=0)).body.block.ops
        assert [type(op) for op in found][0] is operation


def test_a_sum_goes_on_from_a_copy_of_a_constant() -> None:
    """An operation writes where it starts from, and nothing writes a constant."""
    b, (x,) = builder((4, 6))
    bias = b.weight(WeightAttr.of(np.ones(4, np.float32)))
    i, j = b.loops("i j")
    out = generic_of(b.sum((i,), (j,), x[i, j], init=bias))
    copied = out.outputs[0].owner
    assert isinstance(copied, GenericOp) and copied.inputs[0] is bias.value


def test_a_map_begins_with_memory_that_nobody_has_written() -> None:
    """Only what is folded begins with a number."""
    b, (x,) = builder((4,))
    (i,) = b.loops("i")
    assert isinstance(generic_of(b.map((i,), x[i])).outputs[0].owner, tensor.EmptyOp)
    (i,) = b.loops("i")
    assert isinstance(generic_of(b.product((), (i,), x[i])).outputs[0].owner, FillOp)


def test_views_that_change_nothing_are_not_written() -> None:
    """The tensor itself comes back."""
    b, (x,) = builder((4, 6))
    same = [
        b.pad(x, (0, 0), (0, 0)),
        b.collapse(x, [[0], [1]]),
        b.expand(x, [[0], [1]], (4, 6)),
        b.reshape(x, (4, 6)),
        b.cut(x, 1, 0, 6),
        b.concat([x], 0),
    ]
    assert all(view is x for view in same) and not names_of(b)


def test_views() -> None:
    """Of a constant, as numpy has them."""
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    b, _ = builder()
    x = b.weight(WeightAttr.of(array))
    for view, expected in (
        (b.pad(x, (1, 0), (0, 2), 7.0), np.pad(array, ((1, 0), (0, 2)), constant_values=7.0)),
        (b.reshape(x, (2, 12)), array.reshape(2, 12)),
        (b.cut(x, 1, 2, 5), array[:, 2:5]),
        (b.concat([x, x], 1), np.concatenate([array, array], 1)),
        (b.spread(b.cut(b.reshape(x, (24,)), 0, 0, 2), (2, 3), 0), [[0, 0, 0], [1, 1, 1]]),
        (b.full((2,), 3.0), [3, 3]),
    ):
        assert view.shape == np.shape(expected)
        np.testing.assert_array_equal(evaluate_value(view.value), expected)


def test_tables_of_integers_are_places() -> None:
    """What indexes another tensor."""
    b, _ = builder()
    places = b.table(np.array([2, 0], np.int32))
    x = b.table(np.array([5, 6, 7], np.float32))
    (i,) = b.loops("i")
    taken = b.map((i,), x.at(places[i]))
    assert str(element_of(places.value)) == "index"
    assert evaluate_value(taken.value).tolist() == [7.0, 5.0]


# --- every element type, as machine code ----------------------------------------------------


def as_element(numbers_: Array, element: Attribute) -> Array:
    """Numbers rounded to a type of floats; integers as they are."""
    return numbers_ if is_integer(element) else numbers(as_stored(numbers_, element), element)


@every_type
def test_reductions(name: str, level: int, target: str) -> None:
    """Along each axis; sums of half precision are rounded once."""
    element = ELEMENTS[name]
    x = whole(element, (5, 33, 21))
    kinds = ["max", "min", *(() if element == i1 else ("sum", "product"))]

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        made = []
        for axis in range(3):
            for kind in kinds:
                at = b.loops_of(x.shape)
                kept = [loop for k, loop in enumerate(at) if k != axis]
                made.append(getattr(b, kind)(kept, [at[axis]], x[at]))
        return made

    found = run([(x.shape, element)], write, [x], level, target)
    wide = x.astype(np.float32) if is_half(element) else x
    exact: dict[str, Callable[..., Array]]
    exact = {"max": np.max, "min": np.min, "sum": np.sum, "product": np.prod}
    for k, made in enumerate(found):
        axis, kind = divmod(k, len(kinds))
        typed = {} if kinds[kind] in ("max", "min") else {"dtype": wide.dtype}
        expected = as_element(exact[kinds[kind]](wide, axis, **typed), element)
        assert made.dtype == expected.dtype
        np.testing.assert_allclose(made, expected, rtol=1e-6 if element == f32 else 0)


@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_extrema_with_nan(name: str) -> None:
    """A maximum is NaN where one element is, if that is asked for."""
    element = ELEMENTS[name]
    x = whole(element, (7, 37))
    x[1, 3] = x[4, 0] = x[6, 36] = np.nan

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        made = []
        for axis in range(2):
            for nan in (False, True):
                at = b.loops_of(x.shape)
                made.append(b.max([at[1 - axis]], [at[axis]], x[at], nan=nan))
                at = b.loops_of(x.shape)
                made.append(b.min([at[1 - axis]], [at[axis]], x[at], nan=nan))
        return made

    found = run([(x.shape, element)], write, [x], 2, "host")
    exact = [
        f(x, axis) for axis in (0, 1) for f in (np.fmax.reduce, np.fmin.reduce, np.max, np.min)
    ]
    for made, expected in zip(found, exact, strict=True):
        np.testing.assert_array_equal(made, expected)


@every_type
def test_moves(name: str, level: int, target: str) -> None:
    """Padding, concatenations, transposes, slices, steps and constants."""
    element = ELEMENTS[name]
    shape = (5, 18, 35)
    x, y, row = whole(element, shape), whole(element, shape, 1), whole(element, shape[2:], 2)
    orders = ((2, 1, 0), (0, 2, 1), (2, 0, 1))

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        made = [b.pad(x, (1, 2, 3), (0, 1, 2), 1.0), b.full((4, 9), 1.0, element)]
        made += [b.concat([x, y], axis) for axis in range(3)]
        for order in orders:
            to = b.loops_of([shape[axis] for axis in order])
            made.append(b.map(to, x[[to[order.index(axis)] for axis in range(3)]]))
        made.append(b.slice(x, (1, 2, 3), (3, 10, 20)))
        held = b.constant(as_stored(row, element), element)
        at = b.loops_of(shape)
        made.append(b.map(at, select(equal(x[at], held[at[2]]), y[at], x[at])))
        p, q, r = b.loops("p:5 q:9 r:17")
        made.append(b.map((p, q, r), x[p, q * 2, r * 2]))
        made.append(b.reshape(x, (18, 175)))
        return made

    found = run([(shape, element)] * 2, write, [x, y], level, target)
    one = np.ones((), x.dtype)
    expected = [np.pad(x, ((1, 0), (2, 1), (3, 2)), constant_values=one)]
    expected += [np.ones((4, 9), x.dtype), *(np.concatenate([x, y], axis) for axis in range(3))]
    expected += [x.transpose(order) for order in orders]
    expected += [x[1:4, 2:12, 3:23], np.select([x == row], [y], x), x[:, ::2, :34:2]]
    for made, exact in zip(found, [*expected, x.reshape(18, 175)], strict=True):
        assert made.dtype == exact.dtype
        np.testing.assert_array_equal(made, exact)


@every_type
def test_gathers(name: str, level: int, target: str) -> None:
    """At places that int64 inputs tell; and where the first of the largest elements is."""
    element = ELEMENTS[name]
    x = whole(element, (13, 21))
    draw = np.random.default_rng(0)
    rows, columns = draw.integers(0, 13, 9), draw.integers(0, 21, (9, 37))

    def write(b: Builder, x: Tensor, rows: Tensor, columns: Tensor) -> list[Tensor]:
        p, q = b.loops("p:9 q:21")
        made = [b.map((p, q), x.at(to_index(rows[p]), b.index(q)))]
        at = p, q = b.loops("p:9 q:37")
        made.append(b.map(at, x.at(to_index(rows[p]), to_index(columns[p, q]))))
        for axis in range(2):
            at = b.loops_of(x.shape)
            largest = b.max([at[1 - axis]], [at[axis]], x[at])
            number = b.numbers(x.shape[axis])
            at = b.loops_of(x.shape)
            is_largest = equal(x[at], largest[at[1 - axis]])
            place = select(is_largest, number[at[axis]], x.shape[axis])
            made.append(b.min([at[1 - axis]], [at[axis]], place))
        at = b.loops_of(x.shape)
        return [*made, b.map(at, cast(b.index(at[1]), i64))]

    types = [(x.shape, element), (rows.shape, i64), (columns.shape, i64)]
    found = run(types, write, [x, rows, columns], level, target)
    expected = [x[rows], x[rows[:, None], columns], np.argmax(x, 0), np.argmax(x, 1)]
    expected.append(np.broadcast_to(np.arange(21), x.shape))
    for made, exact in zip(found, expected, strict=True):
        np.testing.assert_array_equal(made, exact)


def test_constants_keep_their_types() -> None:
    """bfloat16 is rounded, and is stored as bits; uint16 is not taken for these bits."""
    b, _ = builder()
    for element in ELEMENTS.values():
        assert b.constant(as_stored(whole(element, (3,)), element), element).element_type == element
    held = b.constant(np.array([1.0, 0.1]), bf16)
    np.testing.assert_array_equal(evaluate_value(held.value), [0x3F80, 0x3DCD])
