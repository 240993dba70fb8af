"""Libraries for inputs of any size: what they compute, and what they refuse."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.library.error_numbers import EBUSY, ENOMEM, ERANGE
from ncc.compiler.library.layout import BUSY, Layout
from ncc.runtime.memory import Memory
from ncc.runtime.session import Model
from tests.c_programs import SHARED, STATIC, Library, Loaded, needs_cc, outputs_of
from tests.compiler.library.small_networks import any_size

Arrays = dict[str, np.ndarray[Any, Any]]


def image(height: int, width: int) -> np.ndarray[Any, Any]:
    """An image of this size that no other size has."""
    return np.random.default_rng(1000 * height + width).random((3, height, width), np.float32)


def called(loaded: Loaded, net: int, x: np.ndarray[Any, Any], found: Arrays) -> int:
    """One run; the number of its error."""
    sizes = (ctypes.c_int64 * 2)(*x.shape[1:])
    places = [x.ctypes.data, *(array.ctypes.data for array in found.values())]
    return int(loaded.call("run", net, ctypes.addressof(sizes), *places))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = tmp_path_factory.mktemp("any_size")
    Library(any_size(), folder)
    return Loaded(folder)


@needs_cc
@pytest.mark.parametrize("threads", [1, 2])
def test_results_have_the_bits_of_python(threads: int, tmp_path: Path) -> None:
    """In programs that ask for the shapes of outputs first."""
    artifact = any_size()
    library = Library(artifact, tmp_path, embedded=threads == 1)
    with Model(artifact, threads) as model:
        for height, width in ((1, 1), (7, 30), (64, 33)):
            x = image(height, width)
            expected = outputs_of(library.signature, model.run({"data": x}))
            for kind in (STATIC, SHARED):
                assert library.run({"data": x}, threads, kind, runs=3) == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_one_network_runs_at_changing_sizes(loaded: Loaded, threads: int) -> None:
    """Larger and smaller, in turns: it finds a larger arena where it needs one."""
    draw = random.Random(threads)
    net = loaded.call("create", None, threads)
    with Model(any_size(), threads) as model:
        for _ in range(60):
            x = image(draw.randint(1, 70), draw.choice([1, 2, 9, 40]))
            expected = model.run({"data": x})
            found = {name: np.zeros_like(one) for name, one in expected.items()}
            assert called(loaded, net, x, found) == 0
            assert all(found[name].tobytes() == expected[name].tobytes() for name in found)
    loaded.call("destroy", net)


def test_sizes_that_the_code_is_not_for(tmp_path: Path) -> None:
    """An error, also where nothing else could go wrong; nothing is written."""
    Library(any_size((4, 20), (6, 30)), tmp_path)
    loaded = Loaded(tmp_path)
    net = loaded.call("create", None, 1)
    x = np.zeros((3, 64, 64), np.float32)
    found = {"sums": np.zeros((8, 64, 64), np.float32), "prob": np.zeros(10, np.float32)}
    for height, width in ((3, 6), (21, 6), (4, 5), (4, 31), (0, 6), (-4, 6), (1 << 62, 1 << 62)):
        sizes, shapes = (ctypes.c_int64 * 2)(height, width), (ctypes.c_int64 * 3)()
        where = ctypes.addressof(sizes)
        assert loaded.call("infer_shapes", where, ctypes.addressof(shapes)) == ERANGE
        assert loaded.call("bytes", 1, where) == 0
        places = [x.ctypes.data, *(array.ctypes.data for array in found.values())]
        assert loaded.call("run", net, where, *places) == ERANGE
        assert not any(shapes) and not any(array.any() for array in found.values())
    loaded.call("destroy", net)


def test_memory_of_the_caller(loaded: Loaded) -> None:
    """It is for the sizes that fit into it, and nothing behind it is written."""
    small, large = image(20, 20), image(90, 90)
    sizes = (ctypes.c_int64 * 2)(20, 20)
    bytes = loaded.call("bytes", 2, ctypes.addressof(sizes))
    assert bytes > loaded.call("bytes", 2, None) == Layout(any_size()).size(2) > 0
    assert loaded.call("bytes", 3, ctypes.addressof(sizes)) == loaded.call("bytes", 3, None) == 0
    memory = Memory(bytes + 64)
    memory.bytes[:] = b"\xff" * len(memory.bytes)
    assert loaded.call("init", memory.address, 64, None, 2) is None
    net = loaded.call("init", memory.address, bytes, None, 2)
    with Model(any_size(), 2) as model:
        for x, error in ((large, ENOMEM), (small, 0), (large, ENOMEM), (small, 0)):
            expected = model.run({"data": x})
            found = {name: np.zeros_like(one) for name, one in expected.items()}
            assert called(loaded, net, x, found) == error
            for name, array in found.items():
                assert not array.any() if error else array.tobytes() == expected[name].tobytes()
    assert set(memory.bytes[bytes:]) == {255}


def test_a_busy_network_says_so(loaded: Loaded) -> None:
    """A run at another size changes nothing of the one that is under way."""
    bytes = loaded.call("bytes", 1, None)
    memory = Memory(bytes)
    net = loaded.call("init", memory.address, bytes, None, 1)
    memory.bytes[BUSY] = 1
    before = memory.bytes[:bytes]
    found = {"sums": np.zeros((8, 4, 4), np.float32), "prob": np.zeros(10, np.float32)}
    assert called(loaded, net, image(4, 4), found) == EBUSY
    assert memory.bytes[:bytes] == before
