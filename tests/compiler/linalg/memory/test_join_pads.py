"""A value with several pads lies in one that holds them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8
from xdsl.ir import Block

import ncc
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.memory.join_pads import join_pads
from ncc.compiler.linalg.memory.plan_memory import plan as plan_of
from ncc.compiler.plan import Call, Halo, Plan
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, assuming, largest
from tests.compiler.linalg.operations import flip, work

MakeNetwork = Callable[..., ModuleOp]
MakePlan = Callable[[ModuleOp], Plan]
Sides = tuple[Sequence[int], Sequence[int]]


@pytest.fixture
def planned(make_network: MakeNetwork, make_plan: MakePlan) -> Callable[..., Plan]:
    """planned((sides, number), ..): the plan of a value with readers that pad it so."""

    def plan(*pads: tuple[Sides, float]) -> Plan:
        def write(b: Builder, x: Tensor) -> list[Tensor]:
            y = flip(b, x)
            return [flip(b, b.pad(y, *sides, number)) for sides, number in pads]

        return make_plan(make_network([(3, 4)], write))

    return plan


@pytest.fixture
def planned_for(make_network: MakeNetwork) -> Callable[..., Plan]:
    """planned_for(shape, sides, ..): the plan of a value of that shape with readers that pad it."""

    def plan(shape: Sequence[int], *pads: Sides) -> Plan:
        def write(b: Builder, x: Tensor) -> list[Tensor]:
            y = work(b, x)
            return [work(b, b.pad(y, *sides)) for sides in pads]

        module = make_network([shape], write)
        FormFusionGroups().apply(Context(), module)
        return plan_of(module)

    return plan


def copies(plan: Plan) -> int:
    calls = [step for step in plan.steps if isinstance(step, Call)]
    return sum(call.function.sym_name.data.startswith("copy") for call in calls)


@pytest.mark.parametrize(
    ("other", "shape"),
    [
        (((1, 1), (1, 1)), (6, 5)),
        (((2, 2), (2, 2)), (8, 7)),
        (((0, 1), (1, 0)), (6, 5)),
        (((2, 0), (0, 3)), (7, 7)),
    ],
    ids=["equal", "around", "inside", "crosswise"],
)
def test_one_pad_holds_all(
    other: Sides, shape: tuple[int, int], planned: Callable[..., Plan]
) -> None:
    """As wide as the widest on each side; nobody copies."""
    plan = planned((((1, 1), (1, 1)), 0.0), (other, 0.0), (((1, 1), (1, 1)), 0.0))
    assert copies(plan) == 0
    assert [step.shape for step in plan.steps if isinstance(step, Halo)] == [shape]


@pytest.mark.parametrize("number", [2.0, -0.0])
def test_pads_of_other_numbers_are_others(number: float, planned: Callable[..., Plan]) -> None:
    """A zero of the other sign is another number."""
    plan = planned((((1, 1), (1, 1)), 0.0), (((1, 1), (1, 1)), number))
    assert copies(plan) == 1
    assert sum(isinstance(step, Halo) for step in plan.steps) == 2


def test_pads_of_integers_are_joined() -> None:
    """Their number is an integer."""
    block = Block(arg_types=[TensorType(i8, [3, 4])])
    b = Builder(block)
    x = Tensor(block.args[0], (3, 4))
    pads = [b.pad(x, [n, n], [n, n], 0) for n in (1, 2)]
    block.add_op(func.ReturnOp(*(pad.value for pad in pads)))
    join_pads(block)
    assert [op.result.type for op in block.ops if isinstance(op, tensor.PadOp)] == [
        TensorType(i8, [7, 8])
    ]


def test_a_pad_stands_in_front_of_its_first_reader() -> None:
    """What reads one of the pads may come before the next pad."""
    block = Block(arg_types=[TensorType(f32, [3, 4])])
    b = Builder(block)
    x = Tensor(block.args[0], (3, 4))
    read = [flip(b, b.pad(x, [n, n], [n, n])) for n in (1, 2)]
    block.add_op(func.ReturnOp(*(y.value for y in read)))
    join_pads(block)
    known = {*block.args}
    for op in block.ops:
        assert known.issuperset(op.operands)
        known.update(op.results)


READERS = """7767517
7 10
Input data 0 1 data 0=13 1=11 2=32
Convolution one 1 1 data one 0=32 1=1 5=1 6=1024 9=1
Split split 1 4 one a b c d
ConvolutionDepthWise three 1 1 a three 0=32 1=3 4=1 6=288 7=32
ConvolutionDepthWise five 1 1 b five 0=32 1=5 4=2 6=800 7=32
ConvolutionDepthWise aside 1 1 c aside 0=32 1=3 3=2 4=0 14=0 15=1 16=1 6=288 7=32
ConvolutionDepthWise again 1 1 d again 0=32 1=3 3=2 4=1 6=288 7=32
"""


def test_windows_of_one_pad_read_what_they_did(tmp_path: Path) -> None:
    """Windows of 3 and 5, and some that are padded on two sides only, on any number of threads."""
    path = tmp_path / "net.param"
    path.write_text(READERS)
    x = {"data": np.random.default_rng(0).standard_normal((32, 11, 13)).astype(np.float32)}
    wanted = ncc.compile(path, random_weights=1, opt_level=0).run(x)
    for threads in (1, 2):
        found = ncc.compile(path, random_weights=1, num_threads=threads).run(x)
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-5 * abs(array).max())


def test_pads_of_any_size(planned_for: Callable[..., Plan]) -> None:
    """The one pad is as wide as the wider one of each input."""
    width = Size.symbol("w", 9)
    with assuming() as assumed:
        plan = planned_for((width, 4), ((width, 0), (0, 0)), ((3, 0), (width - 1, 0)))
    (halo,) = (step for step in plan.steps if isinstance(step, Halo))
    assert halo.low == (largest(width, 3), 0) and halo.high == (width - 1, 0)
    assert not copies(plan) and not assumed
