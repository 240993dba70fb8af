"""Index notation: what each word of it becomes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Attribute, Block

from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.weight import WeightAttr
from tests.structured.evaluate import evaluate_value


def builder(*shapes: Shape, element: Attribute = f32) -> tuple[Builder, list[Tensor]]:
    """One that writes at the end of a block, and the block's arguments."""
    block = Block(arg_types=[TensorType(element, shape) for shape in shapes])
    return Builder(block), [Tensor(x, s) for x, s in zip(block.args, shapes, strict=True)]


def computation(x: Tensor) -> GenericOp:
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
    given = [element for element in computation(out).inputs if element != x.value]
    assert [element.type for element in given] == [TensorType(f32, [3])]


def test_loops_that_nobody_uses_leave_no_gap() -> None:
    """Of two loops that are named, the one in use is the first of the computation."""
    b, (x,) = builder((5,))
    _, j = b.loops("i:7 j")
    op = computation(b.map((j,), x[j]))
    assert len(op.iterator_types) == 1
    assert [m.data.num_dims for m in op.indexing_maps] == [1, 1]


def test_one_place_is_read_once() -> None:
    """However often an expression has it, it is one operand."""
    b, (x,) = builder((5,))
    (i,) = b.loops("i")
    assert len(computation(b.map((i,), x[i] * x[i] + x[i])).inputs) == 1


@pytest.mark.parametrize(
    "write, error, text",
    [
        (lambda b, x, i, j: x[i], IndexError, "1 indices"),
        (lambda b, x, i, j: x.at(b.index(i)), IndexError, "1 indices"),
        (lambda b, x, i, j: b.map((i,), x[i + j, j] * 2.0), ValueError, "no extent"),
        (lambda b, x, i, j: b.map((i,), x[i, i]), ValueError, "over 4 and over 6"),
        (lambda b, x, i, j: b.map((i * 2, j), x[i, j]), ValueError, "to write into"),
        (lambda b, x, i, j: b.sum((i,), (j + 1,), x[i, j]), TypeError, "no loop"),
        (lambda b, x, i, j: b.reshape(x, (5, 5)), ValueError, "as many elements"),
        (lambda b, x, i, j: b.counters, ValueError, "grows"),
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
        found = computation(fold((i,), (j,), x[i, j], init=0)).body.block.ops
        assert [type(op) for op in found][0] is operation


def test_a_sum_goes_on_from_a_copy_of_a_constant() -> None:
    """A computation writes where it starts from, and nothing writes a constant."""
    b, (x,) = builder((4, 6))
    bias = b.weight(WeightAttr.of(np.ones(4, np.float32)))
    i, j = b.loops("i j")
    out = computation(b.sum((i,), (j,), x[i, j], init=bias))
    copied = out.outputs[0].owner
    assert isinstance(copied, GenericOp) and copied.inputs[0] is bias.value


def test_a_map_begins_with_memory_that_nobody_has_written() -> None:
    """Only what is folded begins with a number."""
    b, (x,) = builder((4,))
    (i,) = b.loops("i")
    assert isinstance(computation(b.map((i,), x[i])).outputs[0].owner, tensor.EmptyOp)
    (i,) = b.loops("i")
    assert isinstance(computation(b.product((), (i,), x[i])).outputs[0].owner, FillOp)


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
