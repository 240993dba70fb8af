"""Calls of one model at many sizes: their memory, their numbers, their threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.runtime import session
from ncc.runtime.artifact import Artifact
from ncc.runtime.errors import InputError
from ncc.runtime.memory import PAGE
from ncc.runtime.session import Model
from tests.runtime.conftest import Workers

Array = np.ndarray[Any, Any]


def image(height: int, width: int) -> Array:
    """An image of these extents that has no other one's pixels."""
    return np.arange(height * width, dtype=np.float32).reshape(height, width) + height


def expected(x: Array) -> Array:
    """What the test's model computes."""
    return (2 * x).reshape(-1)[::-1].reshape(x.shape)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_one_model_runs_at_every_size(turned: Artifact, threads: int) -> None:
    """Growing and shrinking, in turns, and the same on any number of threads."""
    with Model(turned, threads) as model:
        for height, width in [(3, 2), (50, 40), (2, 3), (7, 64), (50, 40), (1, 6), (301, 5)] * 3:
            x = image(height, width)
            np.testing.assert_array_equal(model(x), expected(x))


def test_sizes_of_several_threads_at_once_are_not_mixed(turned: Artifact) -> None:
    """Each call in flight has its own memory, also where threads of a run come late."""
    with Model(turned, 2) as model, ThreadPoolExecutor(4) as pool:
        images = [image(1 + n % 37, 6 + n % 11) for n in range(400)]
        for x, y in zip(images, pool.map(model, images), strict=True):
            np.testing.assert_array_equal(y, expected(x))


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((3, 65), "expected float32 ?x2..64, found float32 3x65"),
        ((3, 1), "expected float32 ?x2..64, found float32 3x1"),
        ((0, 3), "expected float32 ?x2..64, found float32 0x3"),
        ((3, 4, 1), "expected float32 ?x2..64, found float32 3x4x1"),
        ((1, 5), "not for input 'data' of 1x5, where ((data_h * data_w) - 6) >= 0 does not hold"),
    ],
)
def test_a_shape_that_the_code_is_not_for_is_refused(
    turned: Artifact, shape: tuple[int, ...], why: str
) -> None:
    """With the name of the input, its extents, and what they may be; every time."""
    with Model(turned, 1) as model:
        for _ in range(2):
            with pytest.raises(InputError) as caught:
                model(np.zeros(shape, np.float32))
            assert why in str(caught.value)
        assert not model.is_for({"data": shape})
        assert model.is_for({"data": (2, 3)})


def test_the_arena_is_as_large_as_the_largest_size_needs(turned: Artifact) -> None:
    """One for all sizes: a smaller one uses a part of it."""
    with Model(turned, 1) as model:
        sizes = []
        for height in (10, 1000, 10, 4000, 20):
            model(image(height, 60))
            (context,) = model._free
            sizes.append(context._arena.size)
        least = [128 + 4 * 60 * height for height in (10, 1000, 1000, 4000, 4000)]
        assert all(0 <= size - bytes < PAGE for size, bytes in zip(sizes, least, strict=True))


def test_what_is_kept_of_sizes_is_bounded(
    turned: Artifact, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One context and its threads run at all of them."""
    monkeypatch.setattr(session, "MOST_SIZES", 3)
    with Model(turned, 2) as model:
        for height in range(3, 30):
            x = image(height, 8)
            np.testing.assert_array_equal(model(x), expected(x))
            assert len(model._known) <= 3
            assert len(model._free) == len(workers()) == 1


def test_a_file_of_any_size_runs(turned: Artifact, tmp_path: Path) -> None:
    """It shows its open extents, and their ranges."""
    path = tmp_path / "turned.ncc"
    turned.save(path)
    loaded = Artifact.load(path)
    assert loaded.sizes == turned.sizes and loaded.inputs == turned.inputs
    with Model.load(path, 1) as model:
        assert repr(model).startswith("<Model data: float32 ?x2..64 -> y: float32 ?x?, ")
        x = image(5, 4)
        np.testing.assert_array_equal(model(x), expected(x))


def test_two_threads_may_meet_at_a_new_size(turned: Artifact) -> None:
    """Both compute what it needs, and one is kept."""
    barrier = threading.Barrier(4)

    def call(height: int) -> bool:
        barrier.wait()
        x = image(height, 7)
        return np.array_equal(model(x), expected(x))

    with Model(turned, 1) as model, ThreadPoolExecutor(4) as pool:
        assert all(all(pool.map(call, [height] * 4)) for height in range(2, 30))
