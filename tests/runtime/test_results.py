"""Memory of results: whose it is, and when it is used again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ncc.runtime.artifact import Binding
from ncc.runtime.results import MOST_KEPT, Array, Results, address_of

PLAIN = Binding("y", (3, 4))
CACHE = Binding("cache", (2, -1, 64))


@pytest.mark.parametrize(
    ("binding", "header"), [(PLAIN, 0), (Binding("rows", (3, 4), dynamic=True), 64)]
)
def test_a_buffer_is_aligned(binding: Binding, header: int) -> None:
    """The array begins behind the header, if there is one."""
    array, address = Results(binding).make()
    assert address % 64 == 0 and address_of(array) == address + header
    assert array.shape == (3, 4) and array.dtype == np.float32 and array.flags.writeable


def test_new_memory_is_zeros() -> None:
    """Timestamps of steps without work are read, though nobody writes them."""
    held = [np.full(4, np.nan) for _ in range(64)]
    del held  # such memory is handed out again
    assert not any(Results(Binding("y", (8,))).make()[0].any() for _ in range(64))


def test_what_nobody_has_is_used_again() -> None:
    """As for who holds each result until there is the next."""
    results = Results(PLAIN)
    first = results.make()[1]
    assert results.make()[1] == first
    held = results.make()
    addresses = []
    for _ in range(6):
        held = results.make()
        addresses.append(held[1])
    assert addresses[:2] * 3 == addresses and len(set(addresses)) == MOST_KEPT


@pytest.mark.parametrize(
    "holder",
    [memoryview, np.from_dlpack, iter, lambda array: array[1:, ::2].T, lambda array: array.ctypes],
    ids=["memoryview", "dlpack", "iterator", "view", "ctypes"],
)
def test_what_somebody_has_is_left_alone(holder: Callable[[Array], object]) -> None:
    """Whatever it is that still shows the result's memory."""
    results = Results(PLAIN)
    held, addresses = [], []
    for _ in range(5):
        array, address = results.make()
        held.append(holder(array))
        addresses.append(address)
        del array
    assert len(set(addresses)) == len(held)
    held.clear()
    assert results.make()[1] in addresses


def test_what_was_done_to_a_result_is_not_seen_in_the_next() -> None:
    """Its shape, its type, and whether it may be written, are those of one array."""
    results = Results(PLAIN)
    addresses = set()
    for _ in range(4):
        array, address = results.make()
        assert array.shape == (3, 4) and array.dtype == np.float32 and array.flags.writeable
        array.shape, array.flags.writeable = (12,), False
        addresses.add(address)
        del array
    assert len(addresses) == 1


def test_results_may_end_in_any_thread() -> None:
    """Two threads never have the same memory, and what they let go is used again."""
    results = Results(PLAIN)

    def rounds(number: int) -> set[int]:
        addresses = set()
        for _ in range(500):
            array, address = results.make()
            array[...] = number
            addresses.add(address)
            assert (array == number).all()
        return addresses

    with ThreadPoolExecutor(4) as threads:
        found = set[int]().union(*threads.map(rounds, range(4)))
    assert results.make()[1] in found


@pytest.mark.slow
def test_a_result_outlives_its_model() -> None:
    """It owns its memory, and has nobody to hand it back to."""
    array, _ = Results(PLAIN).make()
    array[...] = 3
    gc.collect()
    others = [np.ones(12, np.float32) for _ in range(10)]
    assert (array == 3).all() and len(others) == 10


def test_many_results_can_be_kept() -> None:
    """All are as they were made, however many there are."""
    results = Results(PLAIN)
    held = []
    for value in range(10):
        array, _ = results.make()
        array[...] = value
        held.append(array)
    assert [float(array.min()) for array in held] == list(range(10))
    assert [float(array.max()) for array in held] == list(range(10))


def test_a_cache_has_room_for_more_rows() -> None:
    """Most of its lengths need no other memory; but a short one does not take a long one's."""
    results = Results(CACHE)
    held = results.make((2, 801, 64))
    addresses = set()
    for rows in range(801, 880):
        held = results.make((2, rows + 1, 64))
        assert held[0].shape == (2, rows + 1, 64)
        addresses.add(held[1])
    assert len(addresses) == MOST_KEPT
    assert results.make((2, 4, 64))[1] not in addresses
