"""One code for images of every size gives ncnn's numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver.specialise import OpenModel
from ncc.compiler.summary import summary_of
from ncc.compiler.verification import oracle
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.oracle import Job, OracleError
from ncc.runtime import cpu
from ncc.runtime.errors import InputError
from ncc.runtime.results import Array

TOLERANCE = 1e-4
"""Of the largest value of an output."""

OPEN = ["mobilenet_v3", "shufflenet_v2", "squeezenet_v1.1"]
"""Networks whose layers take images of many sizes."""


DRAWN = 200
"""Sizes that are asked about at most: some networks end in layers that take few."""


def sizes(network: Any) -> Iterator[tuple[int, int]]:
    """Small ones, sizes that no tile divides, narrow ones, wide ones, those near its own."""
    (own,) = network.input_shapes.values()
    chosen = random.Random(network.name)
    yield from dict.fromkeys(((224, 224), (32, 32), (33, 47), (31, 200), own[1:]))
    while True:
        least, most = chosen.choice(((24, 64), (24, 130), (24, 260), (own[1] - 31, own[1] + 1)))
        yield chosen.randrange(least, most), chosen.randrange(least, most)


def taken(network: Any, count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """As many sizes that the layers take, and those on the way that they do not take."""
    (name,) = network.feeds
    fit: list[tuple[int, int]] = []
    misfit: list[tuple[int, int]] = []
    for size in islice(sizes(network), DRAWN):
        refusal = summary_of(network.param, {name: (3, *size)}).unknown
        (fit if refusal is None else misfit).append(size)
        if len(fit) == count:
            break
    return fit, misfit


NEEDS_NUMBERS = "error: layer"
"""Of the reason why a network is compiled for each shape: a layer needs one size."""


@pytest.mark.networks(slow=OPEN)
def test_images_of_many_sizes(network: Any) -> None:
    """Without another compilation, unless a layer needs one size, and equal for one thread and two.
    The layers refuse the same sizes as where one is given. Where ncnn makes infinities, ncc may
    differ (docs/accuracy.md).
    """
    (name,) = network.feeds
    rng = np.random.default_rng(0)
    fit, misfit = taken(network, 16)
    feeds = [{name: rng.uniform(-1, 1, (3, *size)).astype(np.float32)} for size in fit]
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
        one, two = (model.run(feed) for model in models)
        assert all(one[blob].tobytes() == two[blob].tobytes() for blob in one)
        if isinstance(expected, OracleError) or not all(map(is_finite, expected.values())):
            continue
        for blob, value in expected.items():
            assert difference(one[blob], value) <= TOLERANCE, feed[name].shape
        compared += 1
    assert compared >= max(1, len(fit) // 3)
    for size in misfit[:3]:
        with pytest.raises(InputError):
            models[0].run({name: np.zeros((3, *size), np.float32)})
    for model in models:
        assert isinstance(model, OpenModel)
        assert "for all shapes: 1" in repr(model) or NEEDS_NUMBERS in (model.reason or "")


def is_finite(value: Array) -> bool:
    """Whether no number is infinite or NaN."""
    return bool(np.isfinite(value).all())


LINES = """7767517
12 12
Input data 0 1 data
Convolution c1 1 1 data c1 0=8 1=3 3=2 4=1 5=1 6=216 9=1
Pooling p1 1 1 c1 p1 0=0 1=2 2=2
Convolution c2 1 1 p1 c2 0=16 1=3 11=4 4=1 14=0 5=1 6=1536 9=1
Squeeze sq 1 1 c2 sq 1=1
Permute pm 1 1 sq pm 0=1
MultiHeadAttention at 1 1 pm at 0=16 1=2 2=256
LayerNorm n 1 1 at n 0=16 1=1e-5 2=1
LSTM l1 1 1 n l1 0=6 1=768 2=2
GRU l2 1 1 l1 l2 0=5 1=360 2=2
InnerProduct ip 1 1 l2 ip 0=11 1=1 2=110
Softmax sm 1 1 ip out 0=1 1=1
"""
"""Reads the letters of a line, whatever its width."""

BLOCKS = """7767517
7 8
Input data 0 1 data
Convolution first 1 1 data first 0=64 1=7 3=2 4=3 5=1 6=9408 9=1
Split s 1 2 first s0 s1
Convolution a 1 1 s0 a 0=64 1=3 4=1 5=1 6=36864 9=1
Convolution b 1 1 a b 0=64 1=3 4=1 5=1 6=36864
BinaryOp sum 2 1 b s1 sum 0=0
Convolution end 1 1 sum end 0=40 1=3 3=2 4=1 5=1 6=23040
"""
"""Sums over rows of a window, over blocks of channels, and at every other point."""


SEQUENCE = """7767517
2 2
Input data 0 1 data
Convolution1D c 1 1 data out 0=32 1=3 3=2 4=1 5=1 6=1920
"""
"""Windows of a sequence with too few channels for a block: its values are one row."""


@pytest.mark.skipif(not cpu.allow_tiles(), reason="this CPU has no matrix tiles")
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (BLOCKS, [(3, 70, 81), (3, 1, 1), (3, 5, 33), (3, 140, 3)]),
        (SEQUENCE, [(20, 224), (20, 1), (20, 37)]),
    ],
)
def test_images_of_many_sizes_on_matrix_tiles(
    tmp_path: Path, text: str, shapes: Sequence[tuple[int, ...]]
) -> None:
    """Of fewer points than a tile has rows, too: as without tiles, and equal on any threads."""
    path, rng = tmp_path / "net.param", np.random.default_rng(0)
    path.write_text(text)
    models = [
        ncc.compile(
            path,
            random_weights=1,
            opt_level=3,
            target="amx",
            input_shapes={"data": (shapes[0][0], *[None] * (len(shapes[0]) - 1))},
            num_threads=threads,
        )
        for threads in (1, 3)
    ]
    for size in shapes:
        x = rng.uniform(-1, 1, size).astype(np.float32)
        plain = ncc.compile(path, random_weights=1, input_shapes={"data": x.shape})
        one, three = (model(x) for model in models)
        assert difference(one, plain(x)) <= TOLERANCE, size
        assert one.tobytes() == three.tobytes()
    assert all("for all shapes: 1" in repr(model) for model in models)


LARGEST_SIX = """7767517
4 4
Input data 0 1 data
Interp i 1 1 data i 0=3 1=0.5 2=1.5
CumulativeSum c 1 1 i c 0=2
ArgMax a 1 1 c out 0=1 1=6
"""

SCALED = """7767517
3 3
Input data 0 1 data
Interp up 1 1 data up 0=2 1=1.3 2=1.3
Convolution c 1 1 up out 0=4 1=3 4=1 5=1 6=108
"""
"""The products of 70, 90 and 100 are a little less than whole numbers; that of 90 does not round up
to one.
"""


EVERY_OTHER = """7767517
4 4
Input data 0 1 data
Convolution a 1 1 data a 0=32 1=3 4=1 5=1 6=864
Convolution b 1 1 a b 0=32 1=3 4=1 5=1 6=9216 9=1
Pooling p 1 1 b out 0=0 1=1 2=2 5=1
"""
"""The pool does not read the last row of a strip, for which there is no room behind the others."""


@pytest.mark.parametrize(
    ("text", "shape", "sizes"),
    [
        pytest.param(LINES, (3, 16, None), [(3, 16, w) for w in (5, 133)], marks=pytest.mark.slow),
        (LARGEST_SIX, (4, None, None), [(4, 2, 2), (4, 31, 20)]),
        (EVERY_OTHER, (3, None, None), [(3, 100, 100), (3, 24, 8)]),
        (SCALED, (3, None, None), [(3, 9, 90), (3, 70, 100)]),
    ],
)
def test_one_code_for_every_length(
    tmp_path: Path,
    text: str,
    shape: tuple[int | None, ...],
    sizes: Sequence[tuple[int, ...]],
) -> None:
    """Lines of text, sequences and what sorts: as code for that size, and one compilation."""
    path, rng = tmp_path / "net.param", np.random.default_rng(0)
    path.write_text(text)
    model = ncc.compile(path, random_weights=1, input_shapes={"data": shape})
    for size in sizes:
        x = rng.standard_normal(size, np.float32)
        one = ncc.compile(path, random_weights=1, input_shapes={"data": size})
        np.testing.assert_allclose(model(x), one(x), rtol=1e-4, atol=1e-5)
    assert "for all shapes: 1" in repr(model)


ATTENTION = """7767517
5 5
Input q 0 1 q
Input k 0 1 k
Input v 0 1 v
Input mask 0 1 mask
SDPA it 4 1 q k v mask out 5=1
"""


def test_inputs_of_attention_have_rows_of_their_own(tmp_path: Path) -> None:
    """Those of keys and values are as many, as are those of queries and of the mask."""
    path, rng = tmp_path / "net.param", np.random.default_rng(0)
    path.write_text(ATTENTION)
    shapes = {"q": (2, None, 8), "k": (2, None, 8), "v": (2, None, 8), "mask": (None, None)}
    model = ncc.compile(path, input_shapes=shapes)
    for rows, keys in ((7, 9), (1, 1), (20, 3)):
        given = {"q": (2, rows, 8), "k": (2, keys, 8), "v": (2, keys, 8), "mask": (rows, keys)}
        feeds = {name: rng.standard_normal(shape, np.float32) for name, shape in given.items()}
        found, wanted = (m.run(feeds) for m in (model, ncc.compile(path, input_shapes=given)))
        np.testing.assert_allclose(found["out"], wanted["out"], rtol=1e-4, atol=1e-5)
    assert "for all shapes: 1" in repr(model)


@pytest.mark.slow
def test_lines_of_any_length_where_nobody_says_a_shape(tmp_path: Path) -> None:
    """The first call tells which extents have to be what they are."""
    path, rng = tmp_path / "net.param", np.random.default_rng(0)
    path.write_text(LINES)
    model = ncc.compile(path, random_weights=1)
    for width in (100, 31, 133):
        x = rng.standard_normal((3, 16, width), np.float32)
        one = ncc.compile(path, random_weights=1, input_shapes={"data": x.shape})
        np.testing.assert_allclose(model(x), one(x), rtol=1e-4, atol=1e-5)
    assert "for all shapes: 1" in repr(model)
