"""Whether the atomic accesses of threads have the orders that they need, on ARM: all executions of
small programs that do what the LLVM text does.

Each program returns what went wrong in some execution. With the orders of the text nothing does;
with one of them weakened something must, or the access would not need its order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import pytest

from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import Target
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

ACCESSES = {
    "done, add": ("ncc.add_done", "%before ="),
    "wait, spin": ("ncc.wait_until", "%spun ="),
    "wait, look": ("ncc.wait_until", "%seen ="),
    "sleepers, add": ("ncc.wait_until", "%before ="),
    "sleepers, sub": ("ncc.wait_until", "%after ="),
    "sleepers, load": ("ncc.wake_sleepers", "%count ="),
    "share, glimpse": ("ncc_take", "%glimpse ="),
    "share, swap": ("ncc_take", "%swap ="),
    "done, begin": ("ncc.begin", "%now ="),
    "done, alone": ("ncc_run_alone", "store"),
    "message, read": ("ncc.copy", "%word ="),
    "message, write": ("ncc.copy", "store"),
    "message, before": ("ncc.tell", "store atomic i64 %before"),
    "version, last": ("ncc.tell", "%version ="),
    "version, odd": ("ncc.tell", "store atomic i64 %odd"),
    "version, behind odd": ("ncc.tell", "fence"),
    "version, even": ("ncc.tell", "store atomic i64 %even"),
    "version, load": ("ncc.heard", "%version ="),
    "version, before again": ("ncc.heard", "fence"),
    "version, again": ("ncc.heard", "%again ="),
    "launches, load": ("ncc_worker", "%current ="),
    "launches, add": ("ncc.call_workers", "%before ="),
    "stop, load": ("ncc_worker", "%stop ="),
    "stop, store": ("ncc_stop", "store"),
}
"""Every atomic access: its function, and how its line begins."""

WEAKER = {SEQ_CST: (ACQUIRE, RELAXED), ACQUIRE: (RELAXED,), RELEASE: (RELAXED,), RELAXED: ()}

Orders = Mapping[str, str]

_FUNCTION = re.compile(r"^define .*?@([\w.]+)\(.*?\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ATOMIC = re.compile(r"^  .*\b(?:atomic|atomicrmw|cmpxchg|fence)\b.*$", re.MULTILINE)
_ORDER = re.compile(rf"\b({RELAXED}|{ACQUIRE}|{RELEASE}|acq_rel|{SEQ_CST})\b")


def lines() -> list[tuple[str, str]]:
    """The atomic accesses of the text, each with its function."""
    text = threads_text(Target.of("neon"))
    return [
        (name, line.strip())
        for name, body in _FUNCTION.findall(text)
        for line in _ATOMIC.findall(body)
    ]


def orders() -> dict[str, str]:
    """The order of each access."""
    found = {}
    for name, (function, begin) in ACCESSES.items():
        (line,) = [line for of, line in lines() if of == function and line.startswith(begin)]
        found[name] = _ORDER.findall(line)[0]
    return found


def test_every_access_is_here() -> None:
    """None is left out."""
    assert sorted(line for _, line in lines()) == sorted(
        line
        for function, begin in ACCESSES.values()
        for of, line in lines()
        if of == function and line.startswith(begin)
    )


def results(o: Orders) -> Iterator[str]:
    """Two threads do a chunk each, meet at a barrier, and read what the other one has done. What a
    chunk has read is written anew behind the barrier.
    """

    def thread(own: str, other: str) -> Thread:
        old = yield Load(f"{other} before")
        yield Store(own, 1)
        yield Change("done", lambda n: n + 1, o["done, add"])
        yield Load("done", o["wait, spin"], lambda n: n >= 2)
        yield Store(f"{own} before", 1)
        return old, (yield Load(other))

    for found in outcomes([lambda: thread("x", "y"), lambda: thread("y", "x")], ["done"], 2):
        for old, new in found:
            if old or not new:
                yield f"read {old} before the barrier, {new} behind it"


def sleep(o: Orders, change: str) -> Iterator[str]:
    """A thread falls asleep while another one does what it waits for."""

    def waiter() -> Thread:
        yield Change("sleepers", lambda n: n + 1, o["sleepers, add"])
        seen = yield Load("word", o["wait, look"])
        if not seen:
            seen = yield Load("word")  # the kernel's, with no barrier of its own
        return seen

    def waker() -> Thread:
        yield Change("word", lambda n: n + 1, o[change])
        return (yield Load("sleepers", o["sleepers, load"]))

    for seen, wakes in outcomes([waiter, waker], ["word", "sleepers"], 1):
        if not (seen or wakes):
            yield "a thread sleeps, and nobody wakes it"


def after_sleep(o: Orders) -> Iterator[str]:
    """A thread that has slept sees the results that it has waited for."""

    def waiter() -> Thread:
        yield Load("done", o["wait, look"], lambda n: n >= 1)
        return (yield Load("data"))

    def other() -> Thread:
        yield Store("data", 1)
        yield Change("done", lambda n: n + 1, o["done, add"])

    if any(data == 0 for data, _ in outcomes([waiter, other], ["done"], 1)):
        yield "results are not there after a sleep"


def message(o: Orders) -> Iterator[str]:
    """A worker copies what a launch tells while two launches come."""

    def caller() -> Thread:
        for launch in (1, 2):
            yield Store("input", launch)
            yield Store("version", 2 * launch - 1, o["version, odd"])
            yield Fence(o["version, behind odd"])
            yield Store("before", launch, o["message, before"])
            yield Store("address", launch, o["message, write"])
            yield Store("version", 2 * launch, o["version, even"])

    def worker() -> Thread:
        version = yield Load("version", o["version, load"], lambda n: n > 0 and n % 2 == 0)
        before = yield Load("before", o["message, read"])
        address = yield Load("address", o["message, read"])
        yield Fence(o["version, before again"])
        again = yield Load("version", o["version, again"])
        if again != version:
            return None
        return before, address, version, (yield Load("input"))

    for _, heard in outcomes([caller, worker]):
        if heard is not None:
            before, address, version, data = heard
            if not before == address == version // 2 <= data:
                yield f"version {version} of {before}, {address} for input {data}"


def stop(o: Orders) -> Iterator[str]:
    """A worker that has seen the last launch sees that it is to stop."""

    def stopper() -> Thread:
        yield Store("stop", 1, o["stop, store"])
        yield Change("launches", lambda n: n + 1, o["launches, add"])

    def worker() -> Thread:
        yield Load("launches", o["launches, load"], lambda n: n == 1)
        return (yield Load("stop", o["stop, load"]))

    if any(not stopped for _, stopped in outcomes([stopper, worker], ["launches"], 1)):
        yield "a worker waits for a launch after the last one"


def take(o: Orders, tid: int, begin: int, chunks: int) -> Thread:
    """`ncc_take` for two threads: the chunks, or None."""
    for passed in range(2):
        whose = (tid + passed) % 2
        first, last = begin + chunks * whose // 2, begin + chunks * (whose + 1) // 2
        word = f"share {whose}"
        seen = yield Load(word, o["share, glimpse"])
        while (following := max(seen, first)) < last:
            until, expected = following + (last - following + 1) // 2, seen

            def swapped(n: int, expected: int = expected, until: int = until) -> int | None:
                return until if n == expected else None

            seen = yield Change(word, swapped, o["share, swap"])
            if seen == expected:
                return range(following, until)
    return None


GROWING = ("done", "share 0", "share 1")


def shares(o: Orders) -> Iterator[str]:
    """Two threads take the chunks of a launch: each is done once."""

    def thread(tid: int) -> Thread:
        mine: list[int] = []
        while (taken := (yield from take(o, tid, 0, 3))) is not None:
            mine += taken
        return mine

    for mine, others in outcomes([lambda: thread(0), lambda: thread(1)], GROWING, 3):
        if sorted([*mine, *others]) != [0, 1, 2]:
            yield f"chunks {mine} and {others}"


def late(o: Orders) -> Iterator[str]:
    """A worker comes for the first of two runs, which is under way, or over: the chunks of both
    runs are done once, and what it reads for a chunk is not yet that of the next run.
    """

    def caller() -> Thread:
        mine: list[int] = []
        for run in (0, 1):
            while (taken := (yield from take(o, 0, run, 1))) is not None:
                mine += taken
                yield Change("done", lambda n: n + 1, o["done, add"])
            yield Load("done", o["wait, spin"], (run + 1).__le__)
            yield Store("input", 1)
        return mine

    def worker() -> Thread:
        taken = yield from take(o, 1, 0, 1)
        if taken is None:
            return [], 0
        yield Branch()
        found = yield Load("input")
        yield Change("done", lambda n: n + 1, o["done, add"])
        return [*taken], found

    for mine, (others, found) in outcomes([caller, worker], GROWING, 2):
        if sorted([*mine, *others]) != [0, 1] or found:
            yield f"chunks {mine} and {others}, which read {found}"


def turns(o: Orders) -> Iterator[str]:
    """Another thread calls the next run: it begins where this one has ended."""

    def first() -> Thread:
        yield Change("done", lambda n: n + 1, o["done, add"])
        yield Store("turn", 1, RELEASE)  # how callers take turns is theirs

    def second() -> Thread:
        yield Load("turn", ACQUIRE, lambda n: n == 1)
        return (yield Load("done", o["done, begin"]))

    if any(done != 1 for _, done in outcomes([first, second], ["done"], 1)):
        yield "a run begins in the middle of another one"


ARGUMENTS: Mapping[str, Callable[[Orders], Iterator[str]]] = {
    "results": results,
    "sleep at a barrier": lambda o: sleep(o, "done, add"),
    "sleep between runs": lambda o: sleep(o, "launches, add"),
    "after a sleep": after_sleep,
    "message": message,
    "stop": stop,
    "shares": shares,
    "late": late,
    "turns": turns,
}


def wrong(o: Orders) -> str | None:
    """The first thing that goes wrong, if something does."""
    for name, argument in ARGUMENTS.items():
        for found in argument(o):
            return f"{name}: {found}"
    return None


@pytest.mark.parametrize("name", ARGUMENTS)
def test_nothing_goes_wrong(name: str) -> None:
    """In any execution, with the orders of the text."""
    assert next(ARGUMENTS[name](orders()), None) is None


@pytest.mark.parametrize(
    ("name", "weaker"),
    [
        (name, weaker)
        for name, order in orders().items()
        for weaker in ((NONE,) if "fence" in ACCESSES[name][1] else WEAKER[order])
    ],
)
def test_every_order_is_needed(name: str, weaker: str) -> None:
    """A weaker one goes wrong."""
    assert wrong({**orders(), name: weaker}) is not None
