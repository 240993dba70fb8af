"""What passes units of shuffled channels stays where it was made, in the order of its readers."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

import ncc
from ncc.compiler.cost_model import CostModel, Layout
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.layout.gather_channels import gather
from ncc.compiler.linalg.layout.hoist_gathers import HoistGathers
from ncc.compiler.linalg.layout.join_gathers import JoinGathers
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import pointwise_convolution
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import after
from tests.crossed import some

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def unit(b: Builder, passed: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Even channels of both go on as they are, the odd ones are for the next unit."""
    concat_op = b.concat([passed, pointwise_convolution(b, x, x.shape[0])], 0).value
    channels = range(2 * x.shape[0])
    return gather(b, concat_op, channels[::2]), gather(b, concat_op, channels[1::2])


def units(b: Builder, x: Tensor, count: int = 3) -> Tensor:
    passed, x = unit(b, pointwise_convolution(b, x, 16), pointwise_convolution(b, x, 16))
    for _ in range(count - 1):
        passed, x = unit(b, passed, x)
    return pointwise_convolution(b, b.concat([passed, x], 0), 8)


def concats(module: ModuleOp) -> list[tuple[bool, ...]]:
    """Which parts of each concat are gathers."""
    return [
        tuple(
            isinstance(v.owner, GenericOp) and bool(LinalgOp(v.owner).channels) for v in op.inputs
        )
        for op in network_of(module).body.block.ops
        if isinstance(op, tensor.ConcatOp)
    ]


def test_units(make_network: MakeNetwork) -> None:
    """Only what is computed with is gathered, and concats hold what was made."""
    module = make_network([(16, 3, 2)], units)
    assert concats(module) == [(False, False), (True, False), (True, False), (True, True)]
    found = after(module, JoinGathers(), HoistGathers())
    assert concats(module) == [(False, False), (False, False), (False, False), (True, True)]
    taken = [linalg_op for linalg_op in found if linalg_op.channels is not None]
    assert [shape_of(linalg_op.captured[0])[0] for linalg_op in taken] == [32, 48, 64, 64]


@pytest.mark.slow
def test_units_nest_deeper_than_calls_of_python(make_network: MakeNetwork) -> None:
    """A concat holds all before it, through its gathers, and of those only some are counted."""
    count = sys.getrecursionlimit() // 2
    module = make_network([(16, 3, 2)], lambda b, x: units(b, x, count))
    JoinGathers().apply(Context(), module)
    HoistGathers().apply(Context(), module)
    found = concats(module)
    assert (len(found), found[0], found[-1]) == (count + 1, (False, False), (True, True))


def test_parts_are_made_in_order(make_network: MakeNetwork) -> None:
    """Each gather takes neighbours of each part."""
    module = make_network([(16, 3, 2)], units)
    found = after(module, JoinGathers(), HoistGathers())
    first, second = [v.channels for v in found if v.channels is not None][:2]
    assert first is not None and set(first) == {*range(8), *range(16, 24)}
    assert second is not None and set(second) == {*range(8, 12), *range(24, 28), *range(32, 40)}


@pytest.mark.parametrize("other", ["concat", "part"])
def test_what_somebody_else_reads(make_network: MakeNetwork, other: str) -> None:
    """A concat that is needed whole, or a gather that is, stays."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        passed = gather(b, b.concat([x, y], 0).value, range(0, 32, 2))
        concat_op = b.concat([passed, pointwise_convolution(b, y, 16)], 0)
        kept = concat_op if other == "concat" else passed
        return [
            pointwise_convolution(b, kept, 8),
            pointwise_convolution(b, gather(b, concat_op.value, range(31, -1, -1)), 8),
        ]

    module = make_network([(16, 3, 2), (16, 3, 2)], write)
    reader = {
        "concat": "others than gathers of channels read it",
        "part": "others read the gathers that it joins, too",
    }
    assert reasons(JoinGathers(), module) == [reader[other]]
    assert concats(module) == [(False, False), (True, False)]


def test_concats_of_many_parts_stay(make_network: MakeNetwork) -> None:
    """A gather that is stored puts its blocks together of all of them."""
    module = make_network([(16, 3, 2)], lambda b, x: units(b, x, 4))
    told = reasons(JoinGathers(CostModel(layout=Layout(most_joined_parts=3))), module)
    assert "its parts would be more than 3" in told


class Units:
    """Units of shuffled channels of random width and number, as a .param."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.half = self.draw.choice([8, 12, 24, 29, 48])
        self.lines: list[str] = []
        self.add("Input", "data", (), 1, f"0=7 1=6 2={2 * self.half}")
        self.passed, self.left = self.halves("data")

    def add(
        self, kind: str, name: str, bottoms: tuple[str, ...], tops: int, text: str
    ) -> list[str]:
        name = f"{name}{len(self.lines)}"
        blobs = [f"{name}_{n}" for n in range(tops)]
        words = [kind, name, str(len(bottoms)), str(tops), *bottoms, *blobs, text]
        self.lines.append(" ".join(words))
        return blobs

    def halves(self, blob: str) -> list[str]:
        blob = blob if self.lines[1:] else "data0_0"
        return self.add("Slice", "slice", (blob,), 2, "-23300=2,-233,-233")

    def unit(self) -> None:
        n = self.half
        (x,) = self.add("Convolution", "a", (self.left,), 1, f"0={n} 1=1 6={n * n} 9=1")
        if self.draw.random() < 0.6:
            text = f"0={n} 1=3 4=1 5=1 6={9 * n} 7={n}"
            (x,) = self.add("ConvolutionDepthWise", "b", (x,), 1, text)
        kernel = self.draw.choice([1, 1, 3])
        text = f"0={n} 1={kernel} 4={kernel // 2} 5=1 6={n * n * kernel**2}"
        (x,) = self.add("Convolution", "c", (x,), 1, f"{text} 9={self.draw.choice([0, 1])}")
        (x,) = self.add("Concat", "concat", (self.passed, x), 1, "0=0")
        (x,) = self.add("ShuffleChannel", "shuffle", (x,), 1, f"0=2 1={self.draw.choice([0, 1])}")
        self.passed, self.left = self.halves(x)

    def text(self) -> str:
        for _ in range(self.draw.choice([1, 2, 4])):
            self.unit()
        (x,) = self.add("Concat", "last", (self.passed, self.left), 1, "0=0")
        self.add("Convolution", "out", (x,), 1, f"0=20 1=1 6={40 * self.half}")
        blobs = sum(int(line.split()[3]) for line in self.lines)
        return "\n".join(["7767517", f"{len(self.lines)} {blobs}", *self.lines]) + "\n"


@pytest.mark.parametrize("seed", some(range(6), usual=1))
def test_random_units(tmp_path: Path, seed: int) -> None:
    """They compute what their layers say, the same bits on any number of threads."""
    path = tmp_path / "net.param"
    path.write_text(Units(seed).text())
    plain, fast = (ncc.compile(path, random_weights=seed, opt_level=n) for n in (0, 2))
    three = ncc.compile(path, random_weights=seed, num_threads=3)
    x = np.random.default_rng(seed).standard_normal(plain.inputs[0].shape).astype(np.float32)
    wanted, got = plain(x), fast(x)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-4 * abs(wanted).max())
    np.testing.assert_array_equal(three(x), got)
