"""Gathers go as far up as they become part of others or of constants, and no further."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import ncc
from ncc.compiler.linalg.layout.align_channels import AlignChannels
from ncc.compiler.linalg.layout.gather_channels import GatherChannels, gather
from ncc.compiler.linalg.layout.hoist_gathers import HoistGathers
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from tests.compiler.linalg.operations import whole_numbers
from tests.compiler.linalg.same_numbers import after
from tests.crossed import some

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def dense(b: Builder, x: Tensor, outputs: int) -> Tensor:
    """A pointwise convolution with a bias, and what follows it."""
    w, bias = whole_numbers(b, outputs, x.shape[0]), whole_numbers(b, outputs)
    init = b.spread(bias, (outputs, *x.shape[1:]), 0)
    o, y, z, i = b.loops("o y z i")
    made = b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i], init=init)
    at = tuple(b.loops_of(made.shape))
    return b.map(at, maximum(made[at], 0.0))


def depthwise(b: Builder, x: Tensor) -> Tensor:
    """A padded window of three rows."""
    x, w = b.pad(x, [0, 1, 0], [0, 1, 0]), whole_numbers(b, x.shape[0], 3)
    c, y, z, k = b.loops(f"c y:{x.shape[1] - 2} z k")
    return b.sum((c, y, z), over=(k,), of=x[c, y + k, z] * w[c, k])


def pooled(b: Builder, x: Tensor) -> Tensor:
    c, y, z, k = b.loops(f"c y:{x.shape[1] - 1} z k:2")
    return b.max((c, y, z), over=(k,), of=x[c, y + k, z])


def hoisted(module: ModuleOp, *before: ModulePass) -> list[int]:
    """How many channels each gather takes that is left."""
    found = after(module, *before, HoistGathers())
    after(module, PackChannels())
    return [len(linalg_op.channels) for linalg_op in found if linalg_op.channels is not None]


def test_rows_of_weights(make_network: MakeNetwork) -> None:
    """The outputs of a convolution, its bias, and what is depthwise behind it, in another order."""

    def write(b: Builder, x: Tensor) -> Tensor:
        z = pooled(b, depthwise(b, dense(b, x, 32)))
        return dense(b, gather(b, z.value, range(31, -1, -1)), 16)

    assert hoisted(make_network([(16, 5, 4)], write)) == []


def test_more_outputs_cost_more(make_network: MakeNetwork) -> None:
    """A convolution makes no more blocks than before; depthwise ones do between gathers."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        wide = [*range(20)] * 2
        z = gather(b, depthwise(b, dense(b, x, 20)).value, wide)
        backwards = depthwise(b, gather(b, y.value, range(19, -1, -1)))
        return [z, gather(b, backwards.value, wide)]

    assert hoisted(make_network([(16, 5, 4), (20, 5, 4)], write)) == [40, 40]


@pytest.mark.parametrize("other", ["reader", "operand"])
def test_what_is_not_for_the_selection_alone(make_network: MakeNetwork, other: str) -> None:
    """Neither where all channels are needed, nor where a sum's other operand is no constant."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        made = dense(b, x, 32)
        if other == "operand":
            at = tuple(b.loops_of(made.shape))
            made = b.map(at, made[at] + y[at])
        kept = [made] if other == "reader" else []
        return [*kept, gather(b, made.value, range(31, -1, -1))]

    assert hoisted(make_network([(16, 5, 4), (32, 5, 4)], write)) == [32]


def test_groups_behind_a_shuffle(make_network: MakeNetwork) -> None:
    """One gather makes both the shuffle and the groups, in front of the depthwise sum."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w, v = whole_numbers(b, 3, 20, 16), whole_numbers(b, 3, 32, 20)
        g, o, y, z, i = b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
        x = b.sum((g, o, y, z), over=(i,), of=x[g * 16 + i, y, z] * w[g, o, i])
        x = b.collapse(x, [[0, 1], [2], [3]])
        n, g, y, z = b.loops_of((20, 3, *x.shape[1:]))
        x = b.collapse(b.map((n, g, y, z), x[g * 20 + n, y, z]), [[0, 1], [2], [3]])
        x = depthwise(b, x)
        g, o, y, z, i = b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
        return b.sum((g, o, y, z), over=(i,), of=x[g * 20 + i, y, z] * v[g, o, i])

    module = make_network([(48, 5, 4)], write)
    assert hoisted(module, GatherChannels(), AlignChannels()) == [96]


def test_a_shuffle_of_one_convolution(make_network: MakeNetwork) -> None:
    """It makes its channels in that order, and nothing moves."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = dense(b, x, 30)
        n, g, y, z = b.loops_of((10, 3, *x.shape[1:]))
        x = b.collapse(b.map((n, g, y, z), x[g * 10 + n, y, z]), [[0, 1], [2], [3]])
        return dense(b, depthwise(b, x), 16)

    module = make_network([(16, 5, 4)], write)
    assert hoisted(module, GatherChannels()) == []
    assert len(after(module)) == 8


class Chain:
    """Random layers one behind the other, as a .param."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.channels = 3 * self.draw.choice([8, 20, 24])
        self.lines = [f"Input data 0 1 x0 0=7 1=6 2={self.channels}"]
        self.blobs = 1

    def add(self, kind: str, parameters: str, *bottoms: str) -> None:
        blob = f"x{len(self.lines)}"
        inputs = bottoms or (self.last,)
        joined = " ".join(inputs)
        name = f"layer{len(self.lines)}"
        self.lines.append(f"{kind} {name} {len(inputs)} 1 {joined} {blob} {parameters}")

    @property
    def last(self) -> str:
        return f"x{len(self.lines) - 1}"

    def grouped(self) -> None:
        groups = self.draw.choice([g for g in (1, 2, 3, 4) if self.channels % g == 0])
        outputs = groups * self.draw.choice([6, 16, 18, 20, 40])
        size = outputs * self.channels // groups
        kind = "Convolution" if groups == 1 else "ConvolutionDepthWise"
        parameters = f"0={outputs} 1=1 5=1 6={size} 7={groups} 9={self.draw.choice([0, 1])}"
        self.add(kind, parameters.replace("7=1 ", "") if groups == 1 else parameters)
        self.channels = outputs

    def depthwise(self) -> None:
        n = self.channels
        self.add("ConvolutionDepthWise", f"0={n} 1=3 4=1 5=1 6={9 * n} 7={n}")

    def shuffle(self) -> None:
        groups = self.draw.choice([g for g in (2, 3, 4, 5) if self.channels % g == 0] or [1])
        self.add("ShuffleChannel", f"0={groups}")

    def concat_op(self) -> None:
        source, before = self.last, self.channels
        self.lines.append(f"Split split{len(self.lines)} 1 2 {source} {source}a {source}b")
        kept = len(self.lines)
        n = self.draw.choice([8, 24, 40])
        self.lines.append(f"Convolution layer{kept} 1 1 {source}a x{kept} 0={n} 1=1 6={n * before}")
        self.add("Concat", "0=0", f"{source}b", self.last)
        self.channels = before + n

    def text(self) -> str:
        steps = [self.grouped, self.depthwise, self.shuffle, self.concat_op]
        for _ in range(9):
            self.draw.choice(steps)()
        self.add("ReLU", "")
        blobs = sum(int(line.split()[3]) for line in self.lines)
        return "\n".join(["7767517", f"{len(self.lines)} {blobs}", *self.lines]) + "\n"


@pytest.mark.parametrize("seed", some(range(10), usual=2))
def test_random_chains(tmp_path: Path, seed: int) -> None:
    """In any order the compiled network computes what its layers say; an infinity of one channel
    reaches no result that does not depend on it.
    """
    path = tmp_path / "net.param"
    path.write_text(Chain(seed).text())
    plain, fast = (ncc.compile(path, random_weights=seed, opt_level=n) for n in (0, 2))
    x = np.random.default_rng(seed).standard_normal(plain.inputs[0].shape).astype(np.float32)
    for value in (0.0, np.inf):
        x[5, 2, 3] = value
        wanted, got = plain(x), fast(x)
        finite = np.isfinite(wanted)
        scale = abs(wanted[finite]).max(initial=0.0)
        np.testing.assert_allclose(got[finite], wanted[finite], rtol=0, atol=1e-5 * scale)
