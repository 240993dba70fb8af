"""One code for images of every size gives ncnn's numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver.specialise import LateModel
from ncc.compiler.verification import oracle
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.oracle import Job, OracleError

TOLERANCE = 1e-4
"""Of the largest value of an output."""

OPEN = ["mobilenet_v3", "shufflenet_v2", "squeezenet_v1.1"]
"""Networks whose layers take images of many sizes."""


def sizes(seed: str, count: int) -> Iterator[tuple[int, int]]:
    """Small ones, sizes that no tile divides, narrow ones and wide ones."""
    chosen = random.Random(seed)
    yield from ((224, 224), (32, 32), (33, 47), (31, 200))
    for _ in range(count - 4):
        most = chosen.choice((64, 130, 260))
        yield chosen.randrange(24, most), chosen.randrange(24, most)


@pytest.mark.networks(slow=OPEN)
def test_images_of_many_sizes(network: Any) -> None:
    """Without another compilation, and equal for one thread and two."""
    (name,) = network.feeds
    rng = np.random.default_rng(0)
    feeds = [
        {name: rng.uniform(-1, 1, (3, *size)).astype(np.float32)}
        for size in sizes(network.name, 16)
    ]
    jobs = [Job(network.param, network.bin, feed, network.outputs) for feed in feeds]
    models = [
        ncc.compile(
            network.param,
            network.bin,
            outputs=network.outputs,
            input_shapes={name: (3, None, None)},
            num_threads=threads,
        )
        for threads in (1, 2)
    ]
    compared = 0
    for feed, expected in zip(feeds, oracle.run_all(jobs), strict=True):
        if isinstance(expected, OracleError):
            continue
        one, two = (model.run(feed) for model in models)
        for blob, value in expected.items():
            assert difference(one[blob], value) <= TOLERANCE, feed[name].shape
            assert one[blob].tobytes() == two[blob].tobytes()
        compared += 1
    assert compared >= 12
    for model in models:
        assert isinstance(model, LateModel)
        assert "1 version" in repr(model)
