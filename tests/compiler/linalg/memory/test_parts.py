"""Parts of the arena hold what they have to, as long as they have to, for all inputs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.barriers import in_epochs
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.plan import Halo, Kind, Part, Plan, touched
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.shapes import Shape
from ncc.dialects.size import Size, assuming, form_of

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

H = Size.symbol("h", 9)


def work(b: Builder, x: Tensor, rows: int) -> Tensor:
    """A kernel of its own, since it reads elsewhere than it writes: the last row, repeated."""
    y, z = b.loops_of((rows, x.shape[1]))
    return b.map((y, z), exp(x[x.shape[0] - 1, z]))


def planned(module: ModuleOp, threads: int) -> Plan:
    FormFusionGroups().apply(Context(), module)
    return plan(module, threads)


def open_network(seed: int) -> tuple[list[Shape], Callable[..., list[Tensor]]]:
    """Operations, pads, concats and slices over values with open numbers of rows."""
    draw = random.Random(seed)
    rows = H, 2 * H, H + 3, (H + 1) // 2, 7

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        values = [x]
        for _ in range(draw.randint(3, 20)):
            x = draw.choice(values[-4:])
            match draw.randrange(6):
                case 0:
                    values.append(b.pad(x, (draw.choice([1, H]), 0), (draw.choice([0, 2]), 0)))
                case 1:
                    values.append(b.concat([x, draw.choice(values)], 0))
                case 2:
                    values.append(b.slice(x, (1, 0), (x.shape[0] - 1, 16)))
                case _:
                    values.append(work(b, x, rows=draw.choice(rows)))
        return [draw.choice(values) for _ in range(draw.randint(1, 2))]

    return [(H + 1, 16)], write


@pytest.mark.parametrize("first", range(0, 60, 30))
def test_open_networks(make_network: MakeNetwork, first: int) -> None:
    """Each part of the arena is in use in the epochs of all steps that touch it, and holds the
    buffers in it, whatever the input is. Nothing is assumed of it.
    """
    for seed in range(first, first + 30):
        module = make_network(*open_network(seed))
        threads = 1 + seed % 2
        with assuming() as assumed:
            plan = planned(module, threads)
        assert not assumed, f"seed {seed}: {list(map(str, assumed))}"
        assert plan.arena_bytes == 0
        for timed in in_epochs(plan.steps, threads):
            for buffers in touched(timed.step):
                for buffer in buffers:
                    if buffer.kind is not Kind.ARENA:
                        continue
                    assert buffer.part is not None
                    part = plan.arena[buffer.part]
                    assert part.first <= timed.first and timed.last <= part.last
                    end = buffer.byte_offset + buffer.bytes
                    for h in (1, 2, 5, 30):
                        values = [form_of(n).value({"h": h}) for n in (end, part.bytes)]
                        assert values[0] <= values[1]


def test_memory_of_one_size_is_laid_out_with_the_rest(make_network: MakeNetwork) -> None:
    """Also if no buffer of the arena depends on the inputs."""
    rows = planned(make_network([(H, 16)], lambda b, x: work(b, work(b, x, 7), H)), 2)
    assert rows.arena == (Part(64 * 7, 0, 1),) and rows.arena_bytes == 0


def test_what_shares_an_offset_shares_a_part(make_network: MakeNetwork) -> None:
    """Successive values of one size, for all inputs; and a halo in them is filled once."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(6):
            x = work(b, b.pad(x, (1, 0), (1, 0)), rows=H)
        return x

    plan = planned(make_network([(H, 16)], write), 2)
    halos = [step for step in plan.steps if isinstance(step, Halo)]
    assert len(plan.arena) == 2 and len(halos) == 2
    assert {part.bytes for part in plan.arena} == {64 * (H + 2)}
