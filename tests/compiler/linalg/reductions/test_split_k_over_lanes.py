"""Last blocks of outputs that are folded: which ones, and that their values stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.reductions.split_k_over_lanes import SplitKOverLanes
from ncc.compiler.linalg.rewrite.insert import move_after, tensor_of
from ncc.compiler.target import AVX2, AVX512, ONE_UNIT, TWO_UNITS_OF_AMD, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.derived import Folded
from ncc.dialects.weights.weight import ConstantOp, WeightAttr
from tests.compiler.linalg.operations import relu
from tests.compiler.linalg.reasons import reasons
from tests.structured.evaluate import evaluate

Make = Callable[..., ModuleOp]


def convolved(b: Builder, x: Tensor, outputs: int, window: int = 1) -> Tensor:
    """A convolution of an image."""
    shape = outputs, x.shape[0], window, window
    w = b.weight(WeightAttr.of(np.random.default_rng(1).standard_normal(shape)))
    rows, columns = (n - window + 1 for n in x.shape[1:])
    o, y, z, i, k, m = b.loops(f"o y:{rows} z:{columns} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def network(make: Make, inputs: int, outputs: int, window: int = 1, rows: int = 5) -> ModuleOp:
    """A convolution behind one of whole blocks of outputs, which makes an image in blocks."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return convolved(b, convolved(b, x, inputs), outputs, window)

    return make([(48, rows, 7)], write)


def constants(module: ModuleOp) -> list[ConstantOp]:
    return [op for op in network_of(module).body.block.ops if isinstance(op, ConstantOp)]


def times(module: ModuleOp, target: Target = AVX512) -> list[int]:
    """How often weights of the network are folded."""
    PackChannels().apply(Context(), module)
    SplitKOverLanes(target).apply(Context(), module)
    sources = [op.value.data.source for op in constants(module)]
    return [source.times for source in sources if isinstance(source, Folded)]


@pytest.mark.parametrize(
    ("inputs", "outputs", "found"),
    [
        (32, 24, [2]), (32, 20, [4]), (32, 18, [4]), (32, 8, [2]), (32, 4, [4]),
        (32, 26, []), (32, 32, []), (30, 20, [2]), (27, 24, []), (4, 24, []),
    ],
)  # fmt: skip
def test_by_what_is_left(make_network: Make, inputs: int, outputs: int, found: list[int]) -> None:
    """A half holds eight outputs, a quarter four, of as many inputs at once."""
    assert times(network(make_network, inputs, outputs)) == found


def test_windows_are_folded_too(make_network: Make) -> None:
    """Each of their taps has inputs of its own."""
    assert times(network(make_network, 32, 24, 3)) == [2]


@pytest.mark.parametrize(
    ("inputs", "outputs", "rows", "reason"),
    [
        (32, 24, 1, ["it is no sum over blocks of channels, or one of few points"]),
        (27, 24, 5, ["no two of 27 inputs share lanes with 8 outputs"]),
        (32, 26, 5, ["no two of 32 inputs share lanes with 10 outputs"]),
        (32, 32, 5, []),
    ],
)
def test_why_not(
    make_network: Make, inputs: int, outputs: int, rows: int, reason: list[str]
) -> None:
    """Sums of few points would wait for themselves; an odd input has no lane beside it."""
    module = network(make_network, inputs, outputs, rows=rows)
    assert times(module) == []
    assert reasons(SplitKOverLanes(AVX512), module)[-1:] == reason


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (AVX512, [2]),
        (replace(AVX512, core=ONE_UNIT), []),
        (replace(AVX512, core=TWO_UNITS_OF_AMD), []),
        (AVX2, []),
    ],
    ids=["two units", "one unit", "one that joins", "shorter vectors"],
)
def test_by_core(make_network: Make, target: Target, found: list[int]) -> None:
    """Others have shorter vectors that take less, or two points in one."""
    assert times(network(make_network, 32, 24), target) == found


def test_weights_that_are_read_otherwise_stay(make_network: Make) -> None:
    """All who read a constant have to know."""
    module = network(make_network, 32, 24)
    PackChannels().apply(Context(), module)
    for constant in constants(module):
        b = Builder(Block())
        relu(b, tensor_of(constant.result))
        move_after(b, constant.result)
    SplitKOverLanes(AVX512).apply(Context(), module)
    assert not any(isinstance(op.value.data.source, Folded) for op in constants(module))


def test_the_values_stay(make_network: Make) -> None:
    """Only memory is another one."""
    plain, folded = (network(make_network, 32, 24) for _ in range(2))
    assert times(folded) == [2]
    x = np.random.default_rng(0).standard_normal((48, 5, 7)).astype(np.float32)
    expected, found = (evaluate(network_of(module), [x])[0] for module in (plain, folded))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
