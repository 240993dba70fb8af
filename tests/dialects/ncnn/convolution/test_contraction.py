"""Banks of filters, and the sums of products over them."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block

from ncc.dialects.index_notation import Builder
from ncc.dialects.ncnn.convolution.contraction import Channels, FilterParams, contract
from ncc.dialects.ncnn.convolution.window_domain import WindowDomain
from ncc.dialects.ncnn.window import Window
from tests.structured.evaluate import evaluate_value


def test_a_contraction_reads_no_axis_of_one_cycle() -> None:
    """Neither the only group, nor the only channel of a group, nor a kernel of one tap."""
    assert FilterParams(Channels(1, 1, 1), (Window(1),)).kept == [False, True, True, False]
    assert FilterParams(Channels(4, 1, 1), (Window(3),)).kept == [True, False, False, True]
    assert FilterParams(Channels(4, 2, 1), (Window(3),)).kept == [True, True, False, True]


@pytest.mark.parametrize("init", [0.0, 2.5])
@pytest.mark.parametrize("taps", [1, 2])
@pytest.mark.parametrize(
    "channels",
    [Channels(1, 3, 2), Channels(2, 1, 1), Channels(2, 3, 1), Channels(2, 1, 3)],
    ids=str,
)
def test_each_group_sums_its_own_channels(channels: Channels, taps: int, init: float) -> None:
    """What is written has a group and an output only where there are several, and starts from init;
    cells that no window reaches are not read.
    """
    params = FilterParams(channels, (Window(taps),))
    wide, random = 5, np.random.default_rng(3)
    x = random.standard_normal((params.num_input, wide)).astype(np.float32)
    w = random.standard_normal(params.shape).astype(np.float32)
    b = Builder(Block())
    count = 4
    kept = [n for n, keep in zip(params.shape, params.kept, strict=True) if keep]
    start = b.full((*channels.axes, count), init)
    domain = WindowDomain(count, taps, taps)
    found = contract(b, b.table(x), b.table(w.reshape(kept)), channels, [domain], start)
    cells = np.stack([x[:, u : u + count] for u in range(taps)])
    grouped = cells.reshape(taps, channels.group, channels.inputs, count)
    expected = init + np.einsum("ugiy,goiu->goy", grouped, w).reshape(found.shape)
    np.testing.assert_allclose(evaluate_value(found.value), expected, rtol=1e-5, atol=1e-5)
