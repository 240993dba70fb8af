"""The known examples of ARM's memory model, with the outcomes that it allows."""

from __future__ import annotations

import pytest

from tests.weak_memory.executions import (
    ACQUIRE,
    NONE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    Branch,
    Change,
    Fence,
    Load,
    Store,
    Thread,
    outcomes,
)


@pytest.mark.parametrize(
    ("store", "load", "allowed"),
    [
        (RELAXED, RELAXED, True),
        (RELEASE, RELAXED, True),
        (RELAXED, ACQUIRE, True),
        (RELEASE, ACQUIRE, False),
    ],
)
def test_message_passing(store: str, load: str, allowed: bool) -> None:
    """The flag is seen, and the data before it is not."""

    def writer() -> Thread:
        yield Store("data", 1)
        yield Store("flag", 1, store)

    def reader() -> Thread:
        flag = yield Load("flag", load)
        return flag, (yield Load("data"))

    assert ((None, (1, 0)) in set(outcomes([writer, reader]))) == allowed


@pytest.mark.parametrize(
    ("before", "behind", "allowed"),
    [(RELEASE, NONE, True), (NONE, ACQUIRE, True), (RELEASE, ACQUIRE, False)],
)
def test_message_passing_with_fences(before: str, behind: str, allowed: bool) -> None:
    """The same with fences in place of orders."""

    def writer() -> Thread:
        yield Store("data", 1)
        yield Fence(before)
        yield Store("flag", 1)

    def reader() -> Thread:
        flag = yield Load("flag")
        yield Fence(behind)
        return flag, (yield Load("data"))

    assert ((None, (1, 0)) in set(outcomes([writer, reader]))) == allowed


@pytest.mark.parametrize(
    ("store", "load", "allowed"),
    [(RELEASE, RELAXED, True), (RELEASE, ACQUIRE, True), (RELEASE, SEQ_CST, False)],
)
def test_store_buffering(store: str, load: str, allowed: bool) -> None:
    """Neither thread sees the store of the other: LDAPR passes an STLR, LDAR does not."""

    def thread(own: str, other: str) -> Thread:
        yield Store(own, 1, store)
        return (yield Load(other, load))

    found = set(outcomes([lambda: thread("x", "y"), lambda: thread("y", "x")]))
    assert ((0, 0) in found) == allowed and (1, 1) in found


@pytest.mark.parametrize("is_dependent", [False, True])
def test_load_buffering(is_dependent: bool) -> None:
    """Each thread reads what the other one stores later, unless its store depends on the load."""

    def thread(read: str, written: str) -> Thread:
        found = yield Load(read)
        if is_dependent:
            yield Branch()
        yield Store(written, 1)
        return found

    found = set(outcomes([lambda: thread("x", "y"), lambda: thread("y", "x")]))
    assert ((1, 1) in found) != is_dependent


def test_coherence() -> None:
    """No thread sees the values of one place in two orders."""

    def writer() -> Thread:
        yield Store("x", 1)
        yield Store("x", 2)

    def reader() -> Thread:
        first = yield Load("x")
        return first, (yield Load("x"))

    assert {pair for _, pair in outcomes([writer, reader])} == {
        (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2),
    }  # fmt: skip


def test_writes_are_seen_by_all_at_once() -> None:
    """Two readers never disagree about which of two writes came first."""

    def writer(place: str) -> Thread:
        yield Store(place, 1)

    def reader(first: str, second: str) -> Thread:
        found = yield Load(first, ACQUIRE)
        return found, (yield Load(second))

    threads = [lambda: writer("x"), lambda: writer("y")]
    readers = [lambda: reader("x", "y"), lambda: reader("y", "x")]
    found = {result[2:] for result in outcomes([*threads, *readers])}
    assert ((1, 0), (1, 0)) not in found and ((1, 0), (1, 1)) in found


def test_read_modify_writes_are_atomic() -> None:
    """No addition is lost, and no two swaps of one value succeed."""

    def adder() -> Thread:
        return (yield Change("x", lambda n: n + 1, RELAXED))

    def swapper() -> Thread:
        return (yield Change("x", lambda n: None if n else 1, RELAXED))

    assert {tuple(sorted(pair)) for pair in outcomes([adder, adder], ["x"])} == {(0, 1)}
    assert set(outcomes([swapper, swapper], ["x"])) == {(0, 1), (1, 0)}


@pytest.mark.parametrize(("load", "allowed"), [(RELAXED, True), (ACQUIRE, True), (SEQ_CST, False)])
def test_a_read_modify_write_is_no_fence(load: str, allowed: bool) -> None:
    """A load behind it passes its write, which is an STLXR, if it is no LDAR."""

    def thread(own: str, other: str) -> Thread:
        yield Change(own, lambda n: n + 1, SEQ_CST)
        return (yield Load(other, load))

    found = set(outcomes([lambda: thread("x", "y"), lambda: thread("y", "x")]))
    assert ((0, 0) in found) == allowed
