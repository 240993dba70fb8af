"""A few large groups: the same numbers; each group has its weights and followers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.cost_model import CostModel, Groups
from ncc.compiler.linalg.groups.repeat_groups import RepeatGroups
from ncc.compiler.linalg.groups.separate_groups import SeparateGroups
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu
from tests.compiler.linalg.same_numbers import after

LARGE = replace(AVX512, costs=CostModel(groups=Groups(group_weights_share=0)))
"""A target whose cache the weights of any groups leave."""

NETWORK = """7767517
9 10
Input data 0 1 data 0=9 1=7 2={inputs}
ConvolutionDepthWise first 1 1 data a 0={outputs} 1=3 3={stride} 4={pad} 5={bias} 6={weights} 7={n}
PReLU slopes 1 1 a b 0={outputs}
Split twice 1 2 b c d
ConvolutionDepthWise again 1 1 c e 0={outputs} 1=3 4=1 5=1 6={square} 7={n}
BinaryOp residual 2 1 e d f
Swish swish 1 1 f g
Convolution last 1 1 g h 0=16 1=1 5=1 6={project}
Softmax end 1 1 h y 0=0
"""


@pytest.mark.parametrize(
    ("groups", "size", "count", "stride", "pad", "bias", "target"),
    [
        pytest.param(2, 128, 160, 1, 1, 1, "avx512", marks=pytest.mark.slow),
        (3, 96, 112, 2, 1, 0, "avx512"),
        pytest.param(4, 80, 96, 1, 0, 1, "avx2", marks=pytest.mark.slow),
        (2, 112, 144, 2, 2, 0, "baseline"),
    ],
)
def test_compiled(
    tmp_path: Path,
    groups: int,
    size: int,
    count: int,
    stride: int,
    pad: int,
    bias: int,
    target: str,
) -> None:
    """Numbers are those of -O0, which separates nothing; the same bits by any number of threads."""
    outputs = groups * count
    text = NETWORK.format(
        n=groups,
        inputs=groups * size,
        outputs=outputs,
        stride=stride,
        pad=pad,
        bias=bias,
        weights=9 * outputs * size,
        square=9 * outputs * count,
        project=16 * outputs,
    )
    param = tmp_path / "net.param"
    param.write_text(text)
    x = np.random.default_rng(5).standard_normal((groups * size, 7, 9)).astype(np.float32)
    plain = ncc.compile(param, random_weights=1, target=target, outputs=["h"], opt_level=0)(x)
    one, two = (
        ncc.compile(param, random_weights=1, target=target, outputs=["h"], num_threads=threads)(x)
        for threads in (1, 2)
    )
    np.testing.assert_allclose(one, plain, rtol=0, atol=1e-5 * np.abs(plain).max())
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("groups", "size", "count", "stride", "in_tiles"),
    [
        (2, 40, 24, 1, True),
        pytest.param(16, 24, 24, 1, True, marks=pytest.mark.slow),
        (17, 24, 24, 1, False),
        (2, 40, 24, 2, False),
    ],
)
def test_ragged_groups_have_tiles(
    tmp_path: Path, groups: int, size: int, count: int, stride: int, in_tiles: bool
) -> None:
    """Of their own, and the numbers of -O0: where there are not too many, and tiles pay."""
    outputs = groups * count
    param = tmp_path / "net.param"
    param.write_text(
        f"""7767517
2 2
Input data 0 1 data 0=28 1=28 2={groups * size}
ConvolutionDepthWise y 1 1 data y 0={outputs} 1=3 3={stride} 4=1 5=1 6={9 * outputs * size} \
7={groups} 9=1
""".replace("\\\n", "")
    )
    x = np.random.default_rng(5).standard_normal((groups * size, 28, 28)).astype(np.float32)
    plain = ncc.compile(param, random_weights=1, target="avx512", opt_level=0)(x)
    model = ncc.compile(param, random_weights=1, target="avx512")
    np.testing.assert_allclose(model(x), plain, rtol=0, atol=1e-5 * np.abs(plain).max())
    kernels = {kernel.rpartition("_")[0] for kernel, _ in model.artifact.info["steps"]}
    assert ("transform" in kernels) is in_tiles


def test_images_of_any_width(tmp_path: Path) -> None:
    """Where the run tells how wide they are, costs are compared for the hint."""
    param, shapes = tmp_path / "net.param", {"data": (96, 16, None)}
    param.write_text("""7767517
2 2
Input data 0 1 data
ConvolutionDepthWise y 1 1 data y 0=96 1=3 4=1 5=1 6=20736 7=4
""")
    plain, separate = (
        ncc.compile(param, random_weights=1, input_shapes=shapes, opt_level=level)
        for level in (0, 2)
    )
    for width in (224, 9, 31, 1):
        x = np.random.default_rng(5).standard_normal((96, 16, width)).astype(np.float32)
        expected = plain(x)
        np.testing.assert_allclose(
            separate(x), expected, rtol=0, atol=1e-5 * np.abs(expected).max()
        )
    assert "versions for all shapes: 1" in repr(separate)


def in_groups(b: Builder, x: Tensor, inputs: int) -> Tensor:
    """(group, output, row, column), of groups of so many channels."""
    groups = x.shape[0] // inputs
    draw = np.random.default_rng(6).standard_normal((groups, 16, inputs, 3, 3))
    w = b.weight(WeightAttr.of(draw.astype(np.float32)))
    g, o, p, q, i, k, m = b.loops("g o p:7 q:7 i k m")
    channel = g * inputs + i if inputs > 1 else g + i
    return b.sum((g, o, p, q), (i, k, m), x[channel, p + k, q + m] * w[g, o, i, k, m])


@pytest.mark.parametrize("inputs", [1, 16])
def test_only_channels_are_joined(
    make_network: Callable[..., ModuleOp],
    inputs: int,
) -> None:
    """Groups stay if the collapse also joins rows and columns; so does an input in groups."""

    def joined(b: Builder, x: Tensor) -> Tensor:
        return b.collapse(in_groups(b, relu(b, x), inputs), [[0, 1], [2], [3]])

    def flat(b: Builder, x: Tensor) -> Tensor:
        return b.collapse(in_groups(b, relu(b, x), inputs), [[0, 1, 2, 3]])

    def given(b: Builder, x: Tensor) -> Tensor:
        return relu(b, b.collapse(x, [[0, 1], [2], [3]]))

    for write, shape, changes in (
        (joined, (32, 9, 9), True),
        (flat, (32, 9, 9), False),
        (given, (2, 16, 9, 9), False),
    ):
        module = make_network([shape], write)
        before = str(module)
        for rewrite in (SeparateGroups(LARGE), RepeatGroups()):
            rewrite.apply(Context(), module)
        module.verify()
        assert (str(module) != before) is changes


FOLLOWERS: dict[str, tuple[Shape, Callable[[Builder, Tensor, Tensor], Tensor], bool]] = {
    "factor of the channel": (
        (32,),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * t[c]),
        True,
    ),
    "residual": (
        (32, 7, 7),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] + t[c, p, q]),
        True,
    ),
    "factor of the column": (
        (7,),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * t[q]),
        True,
    ),
    "residual turned": (
        (32, 7, 7),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] + t[c, q, p]),
        True,
    ),
    "turned": ((1,), lambda b, z, t: every(b, lambda c, p, q: z[c, q, p] * t[0]), False),
    "with itself turned": (
        (1,),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * z[c, q, p]),
        False,
    ),
    "factor of cell and channel": (
        (7, 32),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * t[p, c]),
        False,
    ),
    "factor of two channels": (
        (32, 32),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * t[c, c]),
        False,
    ),
    "factor of the next channel": (
        (33,),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * t[c + 1]),
        False,
    ),
    "factor at a computed place": (
        (32,),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] * t.at(b.index(c))),
        False,
    ),
    "sum": ((1,), lambda b, z, t: summed(b, z), False),
    "in place of another": (
        (32, 7, 7),
        lambda b, z, t: every(b, lambda c, p, q: z[c, p, q] + 1.0, t),
        False,
    ),
}
"""Followers of a collapse of 32 x 7 x 7: the other operand, and whether each group gets one."""


def every(b: Builder, of: Callable[..., Scalar], into: Tensor | None = None) -> Tensor:
    at = b.loops_of((32, 7, 7))
    return b.map(at, of(*at), into=into)


def summed(b: Builder, z: Tensor) -> Tensor:
    c, p, q = b.loops("c:32 p:7 q:7")
    return b.sum((c, p), (q,), z[c, p, q])


@pytest.mark.parametrize("name", FOLLOWERS)
def test_what_follows_a_group_is_done_by_it(
    make_network: Callable[..., ModuleOp], name: str
) -> None:
    """If it reads the same channel of each operand, or the same elements for all channels."""
    other, follow, follows = FOLLOWERS[name]

    def write(b: Builder, x: Tensor, t: Tensor) -> Tensor:
        return follow(b, b.collapse(in_groups(b, x, 16), [[0, 1], [2], [3]]), t)

    left = after(make_network([(32, 9, 9), other], write), SeparateGroups(LARGE))
    assert len(left) == 2 + (2 if follows else 1)
