"""Groups of one channel that make several: which channels are repeated; the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

from ncc.compiler.linalg.groups.repeat_groups import RepeatGroups
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.compiled import compiled
from tests.compiler.linalg.operations import relu, whole_numbers
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Write: TypeAlias = Callable[[Builder, Tensor], Tensor]
Read: TypeAlias = Callable[..., tuple[AffineExpr, ...]]


def sums(
    b: Builder,
    x: Tensor,
    *,
    groups: int = 8,
    count: int = 2,
    size: int = 1,
    read: Read = lambda g, o, p, q, i, m: (g + i, p, q + m),
    order: Sequence[int] = (0, 1, 2, 3),
    weights: Write = lambda b, w: w,
    start: Tensor | float = 0.0,
) -> Tensor:
    """Groups that each make so many channels of so many, with a window of two columns.

    order: that of the axes of the weights (group, channel that is made, channel, column).
    """
    shape = (groups, count, size, 2)
    w = weights(b, whole_numbers(b, *(shape[axis] for axis in order)))
    g, o, p, q, i, m = b.loops(f"g:{groups} o:{count} p:4 q:4 i:{size} m:2")
    at = (g, o, i, m)
    of = x[read(g, o, p, q, i, m)] * w[[at[axis] for axis in order]]
    return b.collapse(b.sum((g, o, p, q), (i, m), of, start), [[0, 1], [2], [3]])


def biases(b: Builder, x: Tensor) -> Tensor:
    """A number for each channel that is made."""
    numbers, (g, o, p, q) = whole_numbers(b, 8, 2), b.loops_of((8, 2, 4, 4))
    return sums(b, x, start=b.map((g, o, p, q), numbers[g, o]))


def computed_biases(b: Builder, x: Tensor) -> Tensor:
    numbers, (g, o, p, q) = relu(b, whole_numbers(b, 8, 2)), b.loops_of((8, 2, 4, 4))
    return sums(b, x, start=b.map((g, o, p, q), numbers[g, o]))


def rows(b: Builder, x: Tensor) -> Tensor:
    """A number for each row instead."""
    numbers, (g, o, p, q) = whole_numbers(b, 2, 4), b.loops_of((8, 2, 4, 4))
    return sums(b, x, start=b.map((g, o, p, q), numbers[o, p]))


def volumes(b: Builder, x: Tensor) -> Tensor:
    """Channels of a slice each."""
    x = b.reshape(x, (16, 1, 4, 5))
    return sums(b, x, read=lambda g, o, p, q, i, m: (g + i, i, p, q + m))


REPEATED: dict[str, Write] = {
    "as many channels": lambda b, x: sums(b, b.cut(x, 0, 0, 8)),
    "channels that nobody reads": sums,
    "padded": lambda b, x: sums(b, b.pad(b.cut(x, 1, 0, 3), [0, 1, 1], [0, 0, 0], 0.5)),
    "padded channels": lambda b, x: sums(b, b.pad(x, [1, 0, 0], [0, 0, 0], 0.5)),
    "three channels each": lambda b, x: sums(b, x, groups=6, count=3),
    "from biases": biases,
    "from biases of a run": computed_biases,
}
OTHERS: dict[str, Write] = {
    "one channel each": lambda b, x: sums(b, x, groups=16, count=1),
    "two channels in a group": lambda b, x: sums(
        b, x, groups=5, count=4, size=2, read=lambda g, o, p, q, i, m: (g * 2 + i, p, q + m)
    ),
    "channels that groups share": lambda b, x: sums(b, x, size=2),
    "every other channel": lambda b, x: sums(
        b, x, groups=5, count=4, read=lambda g, o, p, q, i, m: (g * 2 + i, p, q + m)
    ),
    "the next channel": lambda b, x: sums(
        b, x, read=lambda g, o, p, q, i, m: (g + i + 1, p, q + m)
    ),
    "another channel for each that is made": lambda b, x: sums(
        b, x, read=lambda g, o, p, q, i, m: (g + o, p, q + m)
    ),
    "another row for each that is made": lambda b, x: sums(
        b, b.pad(x, [0, 1, 0], [0, 0, 0]), read=lambda g, o, p, q, i, m: (g + i, p + o, q + m)
    ),
    "another row for each group": lambda b, x: sums(
        b, b.pad(x, [0, 9, 0], [0, 0, 0]), read=lambda g, o, p, q, i, m: (g + i, p + g, q + m)
    ),
    "rows of a group, columns of all": lambda b, x: sums(
        b, b.pad(x, [0, 9, 0], [0, 0, 0]), read=lambda g, o, p, q, i, m: (p + i, g + p, q + m)
    ),
    "one channel for all": lambda b, x: sums(
        b, b.cut(x, 0, 3, 4), read=lambda g, o, p, q, i, m: (i, p, q + m)
    ),
    "another channel for each row": lambda b, x: sums(
        b, x, groups=7, count=3, read=lambda g, o, p, q, i, m: (g + i + p, p, q + m)
    ),
    "volumes": volumes,
    "weights in another order": lambda b, x: sums(b, x, order=(1, 0, 2, 3)),
    "weights with the window first": lambda b, x: sums(b, x, order=(3, 0, 1, 2)),
    "weights of a run": lambda b, x: sums(b, x, weights=relu),
    "fewer channels than a block has": lambda b, x: sums(b, x, groups=7),
    "from other numbers than biases": rows,
}


@pytest.mark.parametrize("name", [*REPEATED, *OTHERS])
def test_which_are_repeated(make_network: MakeNetwork, name: str) -> None:
    """A gather repeats the channels; the numbers stay the same."""
    write = (REPEATED | OTHERS)[name]
    module = make_network([(16, 4, 5)], lambda b, x: write(b, relu(b, x)))
    found = after(module, RepeatGroups())
    assert any("channels" in linalg_op.op.attributes for linalg_op in found) == (name in REPEATED)


@pytest.mark.parametrize("padded", [False, True])
def test_of_an_input(make_network: MakeNetwork, padded: bool) -> None:
    """An input is plain: windows of it are summed along its rows."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return sums(b, b.pad(x, [0, 0, 1], [0, 0, 0]) if padded else x)

    found = after(make_network([(16, 4, 5)], write), RepeatGroups())
    assert not any("channels" in linalg_op.op.attributes for linalg_op in found)


NETWORK = """7767517
7 7
Input data 0 1 data 0=13 1=11 2={inputs}
Convolution first 1 1 data a 0={inputs} 1=1 5=1 6={square} 9=1
ConvolutionDepthWise each 1 1 a b 0={outputs} 1=3 3={stride} 4=1 5={bias} 6={window} 7={inputs} 9=1
HardSwish swish 1 1 b c
ConvolutionDepthWise again 1 1 c d 0={again} 1=5 4=2 5=1 6={wide} 7={outputs}
Convolution last 1 1 d e 0=16 1=1 5=1 6={project}
Softmax end 1 1 e y 0=0
"""


@pytest.mark.parametrize(
    ("inputs", "count", "stride", "bias", "target"),
    [
        pytest.param(16, 2, 1, 1, "avx512", marks=pytest.mark.slow),
        (24, 2, 2, 0, "avx512"),
        (12, 3, 2, 1, "avx2"),
        pytest.param(9, 2, 1, 1, "baseline", marks=pytest.mark.slow),
        pytest.param(3, 4, 1, 1, "avx512", marks=pytest.mark.slow),
    ],
)
def test_compiled(
    tmp_path: Path, inputs: int, count: int, stride: int, bias: int, target: str
) -> None:
    """Numbers are those of -O1, which repeats nothing; the same bits for any number of threads."""
    outputs = inputs * count
    text = NETWORK.format(
        inputs=inputs,
        outputs=outputs,
        again=2 * outputs,
        stride=stride,
        bias=bias,
        square=inputs * inputs,
        window=9 * outputs,
        wide=50 * outputs,
        project=32 * outputs,
    )
    param = tmp_path / "net.param"
    param.write_text(text)
    x = np.random.default_rng(3).standard_normal((inputs, 11, 13)).astype(np.float32)
    plain, one = compiled(param, x, target)
    np.testing.assert_allclose(one, plain, rtol=0, atol=1e-5)
