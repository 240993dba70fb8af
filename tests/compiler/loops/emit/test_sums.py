"""Several iterations at once, as for ARM; here they are lowered for a target that runs here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.data_types.pack_vnni import PackVnni
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import BASELINE, NEON, NEON_DOT, NEON_I8MM, Target
from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert
from ncc.dialects.weights.weight import WeightAttr
from tests.structured.evaluate import evaluate

DRAW = np.random.default_rng(4)


def convolution(channels: int) -> Callable[[Builder, Tensor], Tensor]:
    """Two windows, so that the second one reads blocks; channels that fill no block are a tail."""
    first = DRAW.standard_normal((channels, 3, 1, 1)).astype(np.float32)
    second = DRAW.standard_normal((24, channels, 3, 3)).astype(np.float32)

    def write(b: Builder, x: Tensor) -> Tensor:
        for values in (first, second):
            w = b.weight(WeightAttr.of(values))
            side = x.shape[1] - values.shape[-1] + 1
            o, y, z, i, k, m = b.loops(f"o y:{side} z:{side} i k m")
            x = b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])
        return x

    return write


@pytest.mark.parametrize("channels", [16, 32, 20, 22])
def test_products_by_elements(
    channels: int,
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
) -> None:
    """The sums are those of numpy, with iterations left over, too."""
    module = make_network([(3, 9, 9)], convolution(channels))
    x = DRAW.standard_normal((3, 9, 9)).astype(np.float32)
    [expected] = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    [[got]], [program] = run_networks([(module, [x])], lambda k: choose(k, NEON), BASELINE)
    schedules = [schedule for schedule in program.schedules if schedule.at_once is not None]
    assert schedules
    assert all(schedule.reduced[-1] == schedule.at_once[0] for schedule in schedules)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", [NEON_DOT, NEON_I8MM], ids=["words", "matrices"])
@pytest.mark.parametrize("channels", [16, 48])
def test_products_of_bytes(
    channels: int,
    target: Target,
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
) -> None:
    """Both factors have signs, and no sum takes them off. Rows of five points are no pairs."""
    values = DRAW.integers(-128, 128, (32, channels)).astype(np.int8)

    def write(b: Builder, x: Tensor) -> Tensor:
        o, y, z, i = b.loops("o y z i")
        blocks = b.weight(WeightAttr.of(np.eye(channels, dtype=np.float32)))
        x = b.sum((o, y, z), over=(i,), of=x[i, y, z] * blocks[o, i])
        at = b.loops_of(x.shape)
        x = b.map(at, saturated_int8(x[at] * 60.0))
        w = b.weight(WeightAttr.of(values))
        o, y, z, i = b.loops("o y z i")
        return b.sum((o, y, z), over=(i,), of=convert(x[i, y, z], i32) * convert(w[o, i], i32))

    module = make_network([(channels, 3, 5)], write)
    x = DRAW.standard_normal((channels, 3, 5)).astype(np.float32)
    [expected] = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    PackVnni(target).apply(Context(), module)
    [[got]], [program] = run_networks([(module, [x])], lambda k: choose(k, target), BASELINE)
    [schedule] = [schedule for schedule in program.schedules if schedule.quad is not None]
    assert schedule.signed and schedule.at_once is not None
    np.testing.assert_array_equal(got.view(np.int32), expected)
