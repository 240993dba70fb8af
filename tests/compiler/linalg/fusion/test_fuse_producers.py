"""What a pointwise operand reads at the same point is read instead of it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

import ncc
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.fusion.fuse_producers import FuseProducers
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.same_numbers import after
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

SHAPE = (4, 4, 4)


def mix(b: Builder, x: Tensor) -> Tensor:
    w = whole_numbers(b, x.shape[0], x.shape[0])
    o, p, q, i = b.loops(f"o p:{x.shape[1]} q:{x.shape[2]} i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i])


def scaled(b: Builder, x: Tensor) -> Tensor:
    """A number for each channel, times x."""
    w, (c, p, q) = whole_numbers(b, x.shape[0]), b.loops_of(x.shape)
    return b.map((c, p, q), maximum(x[c, p, q] * w[c], -1.0))


def transposed(b: Builder, x: Tensor) -> Tensor:
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), x[c, q, p] * 2.0)


def add(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    at = tuple(b.loops_of(x.shape))
    return b.map(at, x[at] + y[at] * 3.0)


def residual(b: Builder, x: Tensor) -> Tensor:
    return add(b, scaled(b, x), mix(b, x))


def second(b: Builder, x: Tensor) -> Tensor:
    """The other operand, behind an activation of the sum."""
    return add(b, scaled(b, mix(b, x)), scaled(b, x))


def several(b: Builder, x: Tensor) -> Tensor:
    return add(b, add(b, mix(b, x), scaled(b, x)), scaled(b, x))


def elsewhere(b: Builder, x: Tensor) -> Tensor:
    """An operand that is read at another point."""
    return add(b, transposed(b, x), mix(b, x))


def shared(b: Builder, x: Tensor) -> list[Tensor]:
    """An operand that is needed by itself."""
    y = scaled(b, x)
    return [y, add(b, y, mix(b, x))]


def hosted(b: Builder, x: Tensor) -> Tensor:
    """Each operand is stored with a sum, or with nothing."""
    return add(b, scaled(b, mix(b, x)), mix(b, x))


def needed(b: Builder, x: Tensor) -> list[Tensor]:
    """The sum is a result, too, and so is stored before."""
    y = mix(b, x)
    return [y, add(b, scaled(b, x), y)]


def no_sum(b: Builder, x: Tensor) -> Tensor:
    return add(b, scaled(b, x), x)


def given(b: Builder, x: Tensor) -> Tensor:
    return add(b, scaled(b, x), whole_numbers(b, *SHAPE))


def no_sum_beside(b: Builder, x: Tensor) -> Tensor:
    """Neither operand is a sum."""
    return add(b, scaled(b, x), transposed(b, x))


def here_and_elsewhere(b: Builder, x: Tensor) -> Tensor:
    """An operand that reads one value at the same point, and another one not."""
    c, p, q = b.loops_of(x.shape)
    return add(b, b.map((c, p, q), x[c, p, q] * x[c, q, p]), mix(b, x))


def read_elsewhere(b: Builder, x: Tensor) -> Tensor:
    y, total = scaled(b, x), mix(b, x)
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), y[c, q, p] + total[c, p, q])


def sum_elsewhere(b: Builder, x: Tensor) -> Tensor:
    """The sum is read at another point, and so is not stored there."""
    y, total = scaled(b, x), mix(b, x)
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), y[c, p, q] + total[c, q, p])


def in_another_order(b: Builder, x: Tensor) -> Tensor:
    """Loops of the reader that go through the same points in another order."""
    y, total = scaled(b, x), mix(b, x)
    q, c, p = b.loops("q:4 c:4 p:4")
    return b.map((c, p, q), y[c, p, q] - total[c, p, q])


def by_numbers(b: Builder, x: Tensor) -> Tensor:
    """x, by the numbers of its loops."""
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), x.at(b.index(c), b.index(p), b.index(q)) * 2.0)


def numbers_of_loops(b: Builder, x: Tensor) -> Tensor:
    y, total = by_numbers(b, x), mix(b, x)
    q, c, p = b.loops("q:4 c:4 p:4")
    return b.map((c, p, q), y[c, p, q] + total[c, p, q])


def reader_of_numbers(b: Builder, x: Tensor) -> Tensor:
    y, total = scaled(b, x), mix(b, x)
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), y[c, p, q] + total[c, p, q] * x.at(b.index(p), b.index(q), b.index(c)))


def every_other_row(b: Builder, x: Tensor) -> Tensor:
    """An operand of which some rows are written, and the others are there."""
    rows, total = whole_numbers(b, 4, 2, 4), mix(b, x)
    c, p, q = b.loops_of(rows.shape)
    return add(b, b.map((c, p * 2, q), rows[c, p, q] * 2.0, into=total), mix(b, x))


def sum_of_constants(b: Builder, x: Tensor) -> Tensor:
    w, (c, p, q, k) = whole_numbers(b, *SHAPE, 3), b.loops_of((*SHAPE, 3))
    return add(b, b.sum((c, p, q), (k,), w[c, p, q, k] * 1.0), scaled(b, mix(b, x)))


def written_over(b: Builder, x: Tensor) -> Tensor:
    """What is written over it reads nothing of it."""
    y, total = scaled(b, x), mix(b, x)
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), total[c, p, q] * 2.0, into=y)


def added_up(b: Builder, x: Tensor) -> Tensor:
    """A reader that sums on, starting from a third value."""
    y, total, start = scaled(b, x), mix(b, x), transposed(b, x)
    c, p, q = b.loops_of(x.shape)
    return b.sum((c, p, q), (), y[c, p, q] * total[c, p, q], start)


@pytest.mark.parametrize(
    ("write", "count", "kernels"),
    [
        (residual, 1, 1),
        (second, 1, 1),
        (several, 2, 1),
        (elsewhere, 0, 2),
        (shared, 0, 2),
        (hosted, 0, 2),
        (needed, 0, 2),
        (no_sum, 0, 1),
        (given, 0, 1),
        (no_sum_beside, 0, 2),
        (here_and_elsewhere, 0, 2),
        (read_elsewhere, 0, 2),
        (sum_elsewhere, 0, 2),
        (in_another_order, 1, 1),
        (numbers_of_loops, 0, 2),
        (reader_of_numbers, 0, 3),
        (every_other_row, 0, 3),
        (sum_of_constants, 0, 2),
        (written_over, 0, 2),
        (added_up, 0, 3),
    ],
)
def test_which_are_inlined(
    make_network: MakeNetwork, write: Callable[..., Tensor], count: int, kernels: int
) -> None:
    """The numbers stay the same; what is inlined takes no kernel of its own."""
    module = make_network([SHAPE], write)
    function = network_of(module)
    x = np.random.default_rng(0).integers(-9, 9, SHAPE).astype(np.float32)
    wanted = evaluate(function, [x])

    def generics() -> int:
        return sum(isinstance(op, GenericOp) for op in function.body.block.ops)

    before = generics()
    FuseProducers().apply(Context(), module)
    module.verify()
    assert before - generics() == count
    for a, b in zip(wanted, evaluate(function, [x]), strict=True):
        np.testing.assert_array_equal(a, b)
    FormFusionGroups().apply(Context(), module)
    assert sum(op.name == "func.call" for op in function.body.block.ops) == kernels


@pytest.mark.parametrize("which", ["operand", "reader"])
def test_what_says_more_of_itself_stays(make_network: MakeNetwork, which: str) -> None:
    """Attributes of the operand, or of its reader, hold of it alone."""
    module = make_network([SHAPE], residual)
    scaling, _, reader = generics_of(network_of(module).body.block)
    (scaling if which == "operand" else reader).attributes["valid_extents"] = ArrayAttr([])
    assert len(after(module, FuseProducers())) == 3


NETWORK = """7767517
6 7
Input data 0 1 data 0=9 1=7 2=24
Split fork 1 2 data left right
Convolution mix 1 1 left mixed 0=28 1=1 5=1 6=672
Padding more 1 1 right wide 8=4
BinaryOp sum 2 1 mixed wide added
ReLU last 1 1 added out
"""


def test_channels_are_added_to_fewer(tmp_path: Path) -> None:
    """Other channels are zeros, whatever lies behind the last one in memory."""
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    model, plain = (ncc.compile(path, random_weights=3, opt_level=n) for n in (2, 0))
    x = np.random.default_rng(0).standard_normal((24, 7, 9)).astype(np.float32)
    for value in (0.0, np.inf):
        x[23, 1, 2] = value
        np.testing.assert_allclose(model(x), plain(x), rtol=1e-5, atol=1e-6)
