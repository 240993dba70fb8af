"""Pages of memory: zeroed, whole, one's own, and code only when nothing is written any more."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from ncc.runtime.errors import NccError
from ncc.runtime.memory import HUGE, PAGE, Memory, give_back

RETURN_42 = bytes.fromhex("b82a000000c3")  # mov eax, 42; ret


@pytest.mark.parametrize(
    ("size", "pages"), [(0, 1), (1, 1), (PAGE, 1), (PAGE + 1, 2), (HUGE, HUGE // PAGE)]
)
def test_memory_is_whole_zeroed_pages(size: int, pages: int) -> None:
    """At least one, at the address of a page, all of it zero and free to be written."""
    memory = Memory(size)
    assert memory.size == len(memory.bytes) == pages * PAGE
    assert memory.address % PAGE == 0
    assert not any(memory.bytes)
    memory.bytes[-1] = 7
    assert ctypes.string_at(memory.address + memory.size - 1, 1) == b"\7"


def test_two_memories_share_nothing() -> None:
    """What is written to one is not in the other."""
    one, other = Memory(8), Memory(8)
    one.bytes[:8] = b"12345678"
    assert bytes(other.bytes[:8]) == bytes(8)


@pytest.mark.parametrize(("size", "larger"), [(1, PAGE + 1), (PAGE, HUGE), (HUGE, 9 * HUGE + 1)])
def test_memory_grows_and_keeps_what_was_written(size: int, larger: int) -> None:
    """New pages are zeros, and none is taken away."""
    memory = Memory(size)
    memory.bytes[0], memory.bytes[-1] = 7, 8
    before = memory.size
    memory.grow(larger)
    assert ctypes.string_at(memory.address, 1) == b"\7"
    assert ctypes.string_at(memory.address + before - 1, 1) == b"\10"
    assert memory.size == len(memory.bytes) >= larger
    assert not any(memory.bytes[before:])
    grown = memory.address, memory.size
    memory.grow(size)
    assert grown == (memory.address, memory.size)


@pytest.mark.parametrize("size", [1 << 62, 1 << 80])
def test_memory_that_cannot_grow_stays_as_it_is(size: int) -> None:
    """The refusal names the size."""
    memory = Memory(PAGE)
    memory.bytes[0] = 7
    with pytest.raises(NccError, match=f"no memory for {size} bytes"):
        memory.grow(size)
    assert (memory.size, memory.bytes[0]) == (PAGE, 7)


@pytest.mark.parametrize("size", [1 << 62, 1 << 80])
def test_more_than_there_is_is_refused(size: int) -> None:
    """By its size: more than can be addressed, more than a size can say."""
    with pytest.raises(NccError, match=f"no memory for {size} bytes"):
        Memory(size)


def test_code_runs_once_it_is_made_executable() -> None:
    """The page behind it can still be written."""
    memory = Memory(2 * PAGE)
    memory.bytes[: len(RETURN_42)] = RETURN_42
    memory.make_executable(0, PAGE)
    assert ctypes.CFUNCTYPE(ctypes.c_int)(memory.address)() == 42
    memory.bytes[PAGE] = 1


def test_no_page_is_made_executable_for_nothing() -> None:
    """A module without code asks for no right that a system may refuse."""
    memory = Memory(PAGE)
    memory.make_executable(1, 0)
    memory.bytes[0] = 1


def test_a_system_that_refuses_is_told_of() -> None:
    """Here because a right is given to whole pages."""
    with pytest.raises(NccError, match="does not let ncc run machine code: Invalid argument"):
        Memory(PAGE).make_executable(1, 1)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc alone keeps it")
def test_freed_memory_is_given_back() -> None:
    """What lies below a piece that is still in use, too."""
    size, count = 64 << 10, 1000
    pieces = [bytes([n % 255 + 1]) * size for n in range(count)]
    last = pieces.pop()
    pieces.clear()
    before = _resident()
    give_back()
    assert _resident() < before - size * count // 2
    assert last == last[:1] * size


def _resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * PAGE
