"""Channels of groups are parted where each group makes one channel, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.groups.part_groups import PartGroups
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.same_numbers import after

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

SHAPES = [(32, 5, 6), (16, 2, 3)]


def sums(b: Builder, x: Tensor, w: Tensor, step: int = 2, groups: int = 16) -> Tensor:
    """One sum a group over its channels and a window of three columns."""
    width = x.shape[2] - 2
    g, p, q, i, m = b.loops(f"g:{groups} p:{x.shape[1]} q:{width} i m:3")
    return b.sum((g, p, q), over=(i, m), of=x[g * step + i, p, q + m] * w[g, i, m])


def padded(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    return sums(b, b.pad(x, [0, 0, 1], [0, 0, 1], 0.5), w)


def twice(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    x = b.pad(x, [0, 1, 0], [0, 1, 0])
    return b.concat([sums(b, x, w), sums(b, x, w)], axis=0)


def overlapping(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Groups that share channels are no groups."""
    return sums(b, b.slice(x, (0, 0, 0), (17, 5, 6)), w, step=1)


def few(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Fewer groups than a block has lanes."""
    x, w = b.slice(x, (0, 0, 0), (16, 5, 6)), b.slice(w, (0, 0, 0), (8, 2, 3))
    return sums(b, x, w, groups=8)


def whole(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Groups that are blocks as they are."""
    y, z, i = b.loops_of((*x.shape[1:], 256))
    many = b.map((i, y, z), x[0, y, z])
    g, i, m = b.loops_of((16, 16, 3))
    return sums(b, many, b.map((g, i, m), w[g, 0, m]), step=16)


def channels_in_front(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Padded channels are split with the others."""
    return sums(b, b.pad(b.cut(x, 0, 0, 18), [14, 0, 0], [0, 0, 0]), w)


def channels_behind(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    return sums(b, b.pad(b.cut(x, 0, 0, 18), [0, 0, 0], [14, 0, 0]), w)


def several_channels(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """Groups that make more than one channel each."""
    g, o, p, q, i, m = b.loops("g:16 o:2 p:5 q:4 i:2 m:3")
    return b.sum((g, o, p, q), over=(i, m), of=x[g * 2 + i, p, q + m] * w[g, o, m])


def rows_of_groups(b: Builder, x: Tensor, w: Tensor) -> Tensor:
    """A result whose first axis are not the groups."""
    p, g, q, i, m = b.loops("p:5 g:16 q:4 i:2 m:3")
    return b.sum((p, g, q), over=(i, m), of=x[g * 2 + i, p, q + m] * w[g, i, m])


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (sums, ""),
        (padded, ""),
        (channels_in_front, ""),
        (channels_behind, ""),
        (twice, ""),
        (overlapping, None),
        (few, "it has fewer than 16 groups"),
        (whole, "its groups have 16 channels or more"),
        (several_channels, "its groups make several channels each, or no image"),
        (rows_of_groups, "its groups make several channels each, or no image"),
    ],
)
def test_which_are_parted(make_network: MakeNetwork, write: Any, reason: str | None) -> None:
    """Two readers share one transpose; the numbers stay the same."""
    module = make_network(SHAPES, write)
    told = PartGroups().explain(make_network(SHAPES, write))
    assert {one.reason for one in told} == ({reason} if reason is not None else set())
    count = len(generics_of(network_of(module).body.block))
    assert len(after(module, PartGroups())) - count == (reason == "")


NETWORK = """7767517
3 3
Input data 0 1 data 0=7 1=5 2=64
DeconvolutionDepthWise up 1 1 data wide 0=32 1=4 3=2 4=1 5={bias} 6=1024 7=32
ReLU last 1 1 wide out
"""


@pytest.mark.parametrize("bias", [0, 1])
def test_a_transposed_convolution(tmp_path: Path, bias: int) -> None:
    """In blocks of groups with two channels each, the numbers are those of the definition."""
    param = tmp_path / "net.param"
    param.write_text(NETWORK.format(bias=bias))
    x = np.random.default_rng(2).standard_normal((64, 5, 7)).astype(np.float32)
    model = ncc.compile(param, random_weights=1)
    assert "layout" in {layer for _, layers in model.artifact.info["steps"] for layer in layers}
    plain = ncc.compile(param, random_weights=1, opt_level=0)
    np.testing.assert_allclose(model(x), plain(x), rtol=0, atol=1e-5)
