"""Dot products: which kernels use them, and that these are exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32

import ncc
from ncc.compiler.linalg.data_types.pack_vnni import PackVnni
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.products import match_quads, quads_of
from ncc.compiler.loops.schedule.choose import choose, rivals
from ncc.compiler.loops.schedule.dot import window_dot
from ncc.compiler.read.read_network import read
from ncc.compiler.target import TARGETS, Target
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert
from ncc.dialects.weights.weight import WeightAttr
from tests.crossed import some
from tests.runnable import RUNNABLE

# kernel, stride, outputs, inputs of the convolutions of one network; blocks that are full and that
# are not, and images of few channels, whose windows fall into fours along rows.
LAYERS = [
    (1, 1, 16, 16),
    (3, 1, 40, 20),
    (3, 1, 17, 32),
    (2, 1, 64, 8),
    (1, 1, 8, 36),
    (3, 2, 24, 3),
    (7, 2, 16, 3),
    (5, 1, 32, 1),
]


ONES = WeightAttr.of(np.ones((32, 32), np.float32))


def test_fours_of_floats_are_none(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> None:
    """Rows of four floats have the same addresses as rows of four bytes."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((32, 4), np.float32)))
        o, i = b.loops("o i")
        return b.sum((o,), (i,), x[i] * w[o, i])

    [kernel] = [one for one in kernels_of(make_network([(4,)], write)) if one.reduced]
    assert quads_of(kernel) is None


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_packed_convolutions_take_them(
    target: Target,
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[[ModuleOp], list[Kernel]],
) -> None:
    """The tile and the sums for the sign fit the registers; the four products are no loop."""

    def write(b: Builder, x: Tensor) -> Tensor:
        o, y, z, i = b.loops("o y z i")
        x = b.sum((o, y, z), over=(i,), of=x[i, y, z] * b.weight(ONES)[o, i])
        at = b.loops_of(x.shape)
        x = b.map(at, saturated_int8(x[at]))
        w = b.weight(WeightAttr.of(np.ones((64, 32, 3, 3), np.int8)))
        o, y, z, i, k, m = b.loops("o y:8 z:8 i k m")
        term = convert(x[i, y + k, z + m], i32) * convert(w[o, i, k, m], i32)
        return b.sum((o, y, z), over=(i, k, m), of=term)

    module = make_network([(32, 10, 10)], write)
    PackChannels().apply(Context(), module)
    PackVnni(target).apply(Context(), module)
    kernel = [kernel for kernel in kernels_of(module) if kernel.reduced][-1]
    schedule = choose(kernel, target)
    assert schedule.quad is not None and schedule.vector == target.lanes
    assert schedule == rivals(kernel, target)[0] and len(rivals(kernel, target)) > 1
    assert set(schedule.reduced) | {schedule.quad} == kernel.reduced
    assert np.prod([n for _, n in schedule.tile]) < target.registers - 3


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_windows_take_them_where_a_vector_is_a_block(
    target: Target,
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[[ModuleOp], list[Kernel]],
) -> None:
    """Taps of the window are unrolled, so that points share transposed vectors."""

    def write(b: Builder, x: Tensor) -> Tensor:
        o, y, z, i = b.loops("o y z i")
        x = b.sum((o, y, z), over=(i,), of=x[i, y, z] * b.weight(ONES)[o, i])
        at = b.loops_of(x.shape)
        x = b.map(at, saturated_int8(x[at]))
        w = b.weight(WeightAttr.of(np.ones((32, 3, 3), np.int8)))
        o, y, z, k, m = b.loops("o y:8 z:8 k m")
        term = convert(x[o, y + k, z + m], i32) * convert(w[o, k, m], i32)
        return b.sum((o, y, z), over=(k, m), of=term)

    module = make_network([(32, 10, 10)], write)
    PackChannels().apply(Context(), module)
    PackVnni(target).apply(Context(), module)
    [kernel] = [kernel for kernel in kernels_of(module) if len(kernel.reduced) > 1]
    schedule = choose(kernel, target)
    assert (not isinstance(match_quads(kernel, across=True), str)) == (schedule.quad is not None)
    assert (schedule.quad is not None) == (target.dot and target.lanes == 16)
    if not target.dot and not isinstance(match_quads(kernel, across=True), str):
        assert window_dot(kernel, target) == "the target has no instruction for it"
    if schedule.quad is not None:
        assert schedule.unroll == kernel.reduced - {schedule.quad}


def written(folder: Path, lines: list[str], weights: bytes) -> tuple[Path, Path]:
    """The two files of a network, each of whose layers makes one blob."""
    param, binary = folder / "net.param", folder / "net.bin"
    param.write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
    binary.write_bytes(weights)
    return param, binary


def assert_exact(network: tuple[Path, Path], target: Target) -> None:
    """Compiled code has the results of the references, up to one rounding."""
    model = ncc.compile(*network, target=target.name)
    generator = np.random.default_rng(2)
    feeds: dict[str, Any] = {
        binding.name: generator.uniform(-2, 2, binding.shape).astype(np.float32)
        for binding in model.inputs
    }
    expected = interpret(read(*network).module, feeds)
    for name, found in model.run(feeds).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-6, atol=1e-5)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Convolutions side by side, their weights and scales made up."""
    generator = np.random.default_rng(9)
    lines, weights = [], b""
    for n, (kernel, stride, outputs, inputs) in enumerate(LAYERS):
        size = outputs * inputs * kernel**2
        lines.append(f"Input in{n} 0 1 in{n} 0=9 1=7 2={inputs}")
        params = f"0={outputs} 1={kernel} 3={stride} 4={kernel // 2} 5=1 6={size} 8=1"
        lines.append(f"Convolution c{n} 1 1 in{n} out{n} {params}")
        values = generator.integers(-128, 128, size).astype(np.int8).tobytes()
        weights += bytes([0x38, 0x4B, 0x0D, 0]) + values + bytes(-size % 4)
        weights += generator.standard_normal(outputs).astype("<f4").tobytes()
        weights += generator.uniform(50, 90, outputs + 1).astype("<f4").tobytes()
    folder = tmp_path_factory.mktemp("dots")
    return written(folder, lines, weights)


@pytest.mark.parametrize("target", some(RUNNABLE, usual=1), ids=lambda target: target.name)
def test_kernels_are_exact(network: tuple[Path, Path], target: Target) -> None:
    """For all channels: the sums of the references, scaled with at most one rounding."""
    assert_exact(network, target)


# window, stride, dilation, channels of depthwise convolutions, each between two others.
WINDOWS = [(3, 1, 1, 16), (3, 2, 1, 40), (5, 1, 1, 32), (3, 1, 2, 32), (2, 1, 1, 24), (4, 3, 1, 16)]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Depthwise convolutions whose operands and results are int8, side by side."""
    generator = np.random.default_rng(7)
    lines, weights = [], b""
    for n, (kernel, stride, dilation, channels) in enumerate(WINDOWS):
        lines.append(f"Input in{n} 0 1 in{n} 0=13 1=9 2=16")
        for step, (kind, own, size) in enumerate(
            [
                ("Convolution", "1=1 8=102 9=1", channels * 16),
                (
                    "ConvolutionDepthWise",
                    f"1={kernel} 2={dilation} 3={stride} 4=1 7={channels} 8=101",
                    channels * kernel**2,
                ),
                ("Convolution", "1=1 8=2", channels * channels),
            ]
        ):
            blobs = f"{['in', 'a', 'b'][step]}{n} {['a', 'b', 'out'][step]}{n}"
            lines.append(f"{kind} {kind}{n}{step} 1 1 {blobs} 0={channels} {own} 5=1 6={size}")
            values = generator.integers(-128, 128, size).astype(np.int8).tobytes()
            weights += bytes([0x38, 0x4B, 0x0D, 0]) + values + bytes(-size % 4)
            biases = generator.standard_normal(channels).astype("<f4")
            if step < 2:
                biases[[3, 6, 9]] = np.nan, np.inf, -np.inf
            weights += biases.tobytes()
            weights += generator.uniform(50, 90, channels).astype("<f4").tobytes()
            weights += generator.uniform(20, 40, 1).astype("<f4").tobytes()
            if step < 2:
                weights += generator.uniform(5, 9, 1).astype("<f4").tobytes()
    folder = tmp_path_factory.mktemp("windows")
    return written(folder, lines, weights)


@pytest.mark.parametrize("target", some(RUNNABLE, 1), ids=lambda target: target.name)
def test_windows_of_each_channel_are_exact(windows: tuple[Path, Path], target: Target) -> None:
    """For any stride: numbers that are rounded to int8 show any wrong sum."""
    assert_exact(windows, target)
