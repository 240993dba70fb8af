"""Convolutions compute only the elements that a slice keeps: the same numbers, and what stays."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions.bubble_up_slices import BubbleUpSlices
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.structured import pad_sides
from tests.compiler.linalg.compiled import compiled
from tests.compiler.linalg.convolutions.layers import (
    convolution,
    dilated,
    pointwise,
    volume,
)
from tests.compiler.linalg.operations import add, every_other, relu, turned
from tests.compiler.linalg.same_numbers import marked
from tests.crossed import some
from tests.structured.evaluate import evaluate

MakeNetwork = Callable[..., ModuleOp]
Write = Callable[[Builder, Tensor], Tensor]
IMAGE, VOLUME = (4, 12, 13), (4, 5, 8, 9)


def all_but(b: Builder, x: Tensor, front: int, behind: int) -> Tensor:
    """x without the first and the last elements of each axis, except channels."""
    begin, others = [0, *[front] * (x.rank - 1)], x.shape[1:]
    return b.slice(x, begin, [x.shape[0], *(n - front - behind for n in others)])


def after_two(b: Builder, x: Tensor) -> Tensor:
    """Two convolutions, and a slice of the elements that depend on no border."""
    return all_but(b, convolution(b, relu(b, convolution(b, x, 6)), 8), 2, 2)


def residual(b: Builder, x: Tensor) -> Tensor:
    return all_but(b, relu(b, add(b, dilated(b, x, x.shape[0], 2), x)), 1, 3)


@pytest.mark.parametrize(
    ("shape", "write", "cells"),
    [
        (IMAGE, lambda b, x: all_but(b, relu(b, convolution(b, x, 8)), 0, 2), [10 * 11]),
        (IMAGE, lambda b, x: all_but(b, convolution(b, x, 8, pad=3, stride=2), 2, 1), [5 * 6]),
        (IMAGE, lambda b, x: all_but(b, all_but(b, convolution(b, x, 8), 1, 0), 0, 3), [8 * 9]),
        (IMAGE, lambda b, x: all_but(b, convolution(b, x, 8, pad=0), 3, 2), [5 * 6]),
        (IMAGE, after_two, [10 * 11, 8 * 9]),
        (IMAGE, residual, [8 * 9]),
        (VOLUME, lambda b, x: all_but(b, volume(b, x, 8), 1, 1), [3 * 6 * 7]),
        (VOLUME, lambda b, x: all_but(b, volume(b, x, 8, strides=(2, 1)), 0, 1), [2 * 7 * 8]),
    ],
    ids=["behind", "strided", "twice", "no pad", "two", "residual", "volume", "slices"],
)
def test_numbers(
    make_network: MakeNetwork, shape: tuple[int, ...], write: Write, cells: list[int]
) -> None:
    """The same numbers, and no other elements."""
    module = make_network([shape], write)
    x = [np.random.default_rng(1).standard_normal(shape).astype(np.float32)]
    (whole,) = evaluate(network_of(module), x, dtype=np.float64)
    BubbleUpSlices().apply(Context(), module)
    module.verify()
    (read,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(read, whole, rtol=0, atol=1e-12)
    views = map(LinalgOp, generics_of(network_of(module).body.block))
    made = [shape_of(linalg_op.op.results[0])[1:] for linalg_op in views if linalg_op.reduced]
    assert list(map(prod, made)) == cells


def test_pads_are_shrunk(make_network: MakeNetwork) -> None:
    """The pad of the image shrinks; no slice of a pad is left."""
    module = make_network([IMAGE], lambda b, x: all_but(b, convolution(b, x, 8, pad=2), 0, 2))
    BubbleUpSlices().apply(Context(), module)
    views = [op for op in network_of(module).body.block.ops if op.name.startswith("tensor.")]
    (pad,) = (op for op in views if isinstance(op, tensor.PadOp))
    assert pad_sides(pad) == ([0, 2, 2], [0, 0, 0])
    assert not any(isinstance(op, tensor.ExtractSliceOp) for op in views)


def largest(b: Builder, x: Tensor) -> Tensor:
    c, p, q, k, m = b.loops(f"c p:{x.shape[1] - 2} q:{x.shape[2] - 2} k:3 m:3")
    return b.max((c, p, q), (k, m), x[c, p + k, q + m])


@pytest.mark.parametrize(
    ("write", "reasons"),
    [
        (lambda b, x: all_but(b, relu(b, x), 0, 2), []),
        (lambda b, x: all_but(b, pointwise(b, x), 0, 2), []),
        (lambda b, x: all_but(b, largest(b, x), 0, 2), []),
        (lambda b, x: all_but(b, turned(b, convolution(b, x, 8)), 0, 2), []),
        (lambda b, x: all_but(b, every_other(b, convolution(b, x, 8)), 0, 2), []),
        (
            lambda b, x: b.slice(convolution(b, x, 8, pad=5), [0, 0, 0], [8, 2, 2]),
            ["the slice keeps elements that read border alone"],
        ),
    ],
    ids=["pointwise", "no window", "no sum", "turned", "every other", "border"],
)
def test_what_stays(make_network: MakeNetwork, write: Write, reasons: list[str]) -> None:
    """Other operations, followers that are not pointwise, and slices that read the border alone."""
    module = make_network([IMAGE], write)
    text = str(module)
    assert [one.reason for one in BubbleUpSlices().explain(module)] == reasons
    assert str(module) == text


def test_marked_operations_stay(make_network: MakeNetwork) -> None:
    """Attributes describe the whole operation."""
    module = marked(make_network([IMAGE], lambda b, x: all_but(b, convolution(b, x, 8), 0, 2)))
    text = str(module)
    BubbleUpSlices().apply(Context(), module)
    assert str(module) == text


NETWORK = """7767517
10 11
Input data 0 1 data 0=61 1=20
Convolution1D first 1 1 data a 0=32 1=3 2=2 4=4 5=1 6=1920
Crop causal 1 1 a b -23309=1,0 -23310=1,-4 -23311=1,1
ReLU relu 1 1 b c
Split split 1 2 c d e
Convolution1D second 1 1 d f 0=32 1=3 2=4 4=8 5=1 6=3072
Crop also 1 1 f g -23309=1,0 -23310=1,-8 -23311=1,1
BinaryOp both 2 1 g e h
ConvolutionDepthWise1D each 1 1 h i 0=32 1=5 4=4 5=1 6=160 7=32
Crop last 1 1 i y -23309=1,2 -23310=1,-4 -23311=1,1
"""


@pytest.mark.parametrize("target", some(["avx512", "avx2", "baseline"], usual=1))
def test_compiled(tmp_path: Path, target: str) -> None:
    """The numbers of -O1, which slices no operand; the same bits for any number of threads."""
    param = tmp_path / "net.param"
    param.write_text(NETWORK)
    x = np.random.default_rng(3).standard_normal((20, 61)).astype(np.float32)
    plain, one = compiled(param, x, target)
    np.testing.assert_allclose(one, plain, rtol=0, atol=2e-5 * np.abs(plain).max())
