"""The functions that take memory and threads from their caller."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.library.error_numbers import EBUSY, EINVAL, ERANGE
from ncc.compiler.library.host import C_LIBRARY
from ncc.compiler.library.layout import BUSY, Layout
from tests.c_programs import STATIC, Library, Loaded, done, needs_cc, run
from tests.compiler.library.small_networks import Compiled, compiled


@dataclass
class Memory:
    """Memory of a network, and where it begins."""

    pages: mmap.mmap

    def __post_init__(self) -> None:
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))


@pytest.fixture(scope="module")
def loaded(library: Library) -> Loaded:
    return Loaded(library.folder)


@pytest.fixture
def memory(library: Library) -> Iterator[Memory]:
    """Memory for two threads, and a bit more."""
    made = Memory(mmap.mmap(-1, Layout(library.artifact).size(2) + 64))
    made.pages[:] = b"\xff" * len(made.pages)
    yield made


def test_a_run_in_memory_of_the_caller(loaded: Loaded, memory: Memory, plain: Compiled) -> None:
    """Memory may hold anything before; a thread that never comes changes no bit."""
    (x,), (y,) = plain.feeds.values(), plain.results.values()
    for threads in (1, 2):
        found = np.empty_like(y)
        net = loaded.call("init", memory.address, None, threads)
        assert net == memory.address
        for _ in range(3):
            assert loaded.call("run", net, x.ctypes.data, found.ctypes.data) == 0
            assert found.tobytes() == y.tobytes()


def test_nothing_behind_the_memory_is_written(loaded: Loaded, memory: Memory) -> None:
    """The size that the library tells is all that it takes."""
    loaded.call("init", memory.address, None, 2)
    size = loaded.call("bytes", 2)
    assert not any(memory.pages[size - 64 : size])
    assert memory.pages[size:] == b"\xff" * (len(memory.pages) - size)


def test_a_busy_network_says_so(loaded: Loaded, memory: Memory, plain: Compiled) -> None:
    """A second run at the same time changes nothing; the network runs again after the first."""
    (x,), (y,) = plain.feeds.values(), plain.results.values()
    found = np.zeros_like(y)
    net = loaded.call("init", memory.address, None, 1)
    memory.pages[BUSY] = 1
    assert loaded.call("run", net, x.ctypes.data, found.ctypes.data) == EBUSY
    assert not found.any()
    memory.pages[BUSY] = 0
    assert loaded.call("run", net, x.ctypes.data, found.ctypes.data) == 0
    assert found.tobytes() == y.tobytes() and memory.pages[BUSY] == 0


@pytest.mark.parametrize("threads", [0, -1, 3, 1 << 30, -(1 << 31)])
def test_a_wrong_number_of_threads(loaded: Loaded, memory: Memory, threads: int) -> None:
    """No network is made for it."""
    wrong = ctypes.c_int(threads)
    assert loaded.call("check", None, wrong) == ERANGE
    assert loaded.call("bytes", wrong) == 0
    assert loaded.call("init", memory.address, None, wrong) is None
    assert loaded.call("create", None, wrong) is None


@pytest.mark.parametrize("thread", [0, -1, 2, 1 << 20])
def test_a_wrong_number_of_a_thread(loaded: Loaded, memory: Memory, thread: int) -> None:
    """It returns at once."""
    net = loaded.call("init", memory.address, None, 2)
    assert loaded.call("work", net, ctypes.c_int(thread)) == EINVAL


def test_memory_that_is_not_aligned(loaded: Loaded, memory: Memory) -> None:
    """Memory and weights begin at a multiple of 64 bytes."""
    assert loaded.call("init", memory.address + 8, None, 1) is None
    assert loaded.call("init", None, None, 1) is None
    assert loaded.call("check", memory.address + 8, 1) == EINVAL


def test_weights_of_another_network(mapped: Library, plain: Compiled) -> None:
    """Weights must be those of the code: its own file is taken, and no other one."""
    loaded, weights = Loaded(mapped.folder), mapped.weights.read_bytes()
    place = Memory(mmap.mmap(-1, len(weights)))
    place.pages[:] = weights
    assert loaded.call("check", place.address, 1) == 0
    assert loaded.call("check", None, 1) == EINVAL
    for byte in (0, 12, 16, 31, 32, 39):
        place.pages[byte] ^= 1
        assert loaded.call("check", place.address, 1) == EINVAL
        assert loaded.call("create", place.address, 1) is None
        place.pages[byte] ^= 1
    assert loaded.call("check", place.address, 1) == 0


def test_other_weights_of_the_same_network(library: Library, tmp_path: Path) -> None:
    """A library takes weights of a later training: the code is the same, and so is the order."""
    other = compiled("plain", seed=2)
    assert other.artifact.objects == library.artifact.objects
    given = Library(other.artifact, tmp_path, embedded=False)
    place = Memory(mmap.mmap(-1, given.weights.stat().st_size))
    place.pages[:] = given.weights.read_bytes()
    loaded = Loaded(library.folder)
    (x,), (y,) = other.feeds.values(), other.results.values()
    found = np.empty_like(y)
    net = loaded.call("create", place.address, 1)
    assert loaded.call("run", net, x.ctypes.data, found.ctypes.data) == 0
    loaded.call("destroy", net)
    assert found.tobytes() == y.tobytes()


def test_caches_that_do_not_fit(tmp_path: Path) -> None:
    """A mask is for as many rows as caches have, and these are no fewer than none."""
    network = compiled("caches")
    Library(network.artifact, tmp_path)
    loaded = Loaded(tmp_path)
    net = loaded.call("create", None, 1)
    arrays = [array.ctypes.data for array in (*network.feeds.values(), *network.results.values())]
    for sizes in ((8, 4), (7, 5), (2, -1)):
        told = np.array(sizes, np.int64)
        assert loaded.call("run", net, told.ctypes.data, *arrays) == ERANGE
    loaded.call("destroy", net)


BARE = """
#include "net.h"
static _Alignas(64) char memory[NET_BYTES(1)];
static float data[NET_DATA_ELEMENTS], prob[NET_PROB_ELEMENTS];
static void leave(long code) {
  __asm__ volatile("syscall" : : "a"(60L), "D"(code) : "rcx", "r11", "memory");
  __builtin_unreachable();
}
void _start(void) {
  net *made = net_supported() ? net_init(memory, 0, 1) : 0;
  int error = made ? net_run(made, data, prob) : 1;
  for (int n = 0; n < NET_PROB_ELEMENTS; n++) error |= prob[n] != prob[n];
  leave(error);
}
"""


CALLER_THREADS = """
#include <pthread.h>
#include <string.h>
#include "net.h"

static _Alignas(64) char memory[NET_BYTES(2)];
static float data[NET_DATA_ELEMENTS], want[NET_PROB_ELEMENTS], prob[NET_PROB_ELEMENTS];

static void *work(void *given) { return net_work(given, 1) ? given : NULL; }

int main(void) {
  for (int n = 0; n < NET_DATA_ELEMENTS; n++) data[n] = (float)(n % 7);
  net *made = net_init(memory, NULL, 1);
  if (!made || net_run(made, data, want)) return 1;
  for (int again = 0; again < 20; again++) {
    pthread_t thread;
    void *failed;
    made = net_init(memory, NULL, 2);
    if (!made || pthread_create(&thread, NULL, work, made)) return 2;
    for (int n = 0; n < 20; n++) {
      memset(prob, 0, sizeof prob);
      if (net_run(made, data, prob) || memcmp(prob, want, sizeof prob)) return 3;
    }
    net_quit(made);
    if (pthread_join(thread, &failed) || failed) return 4;
  }
  return 0;
}
"""


@needs_cc
def test_threads_of_the_caller(library: Library) -> None:
    """They work until they are told to return, and the memory can be used again."""
    main = library.program(CALLER_THREADS, STATIC)
    assert run([main]).returncode == 0
    undefined = {name for name in C_LIBRARY if name.startswith(("posix", "free", "madvise"))}
    assert not undefined & set(done(["nm", "-u", main]).replace("@", " ").split())


@needs_cc
def test_nothing_is_needed(library: Library) -> None:
    """A program without a C library, and without a linker's leave to look for one."""
    options = "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector"
    main = library.program(BARE, STATIC, *options, "-Wno-main", "-mstackrealign")
    assert run([main]).returncode == 0


def test_the_arena_is_zero_at_first(library: Library) -> None:
    """`init` clears whole lines: the sizes of all parts are multiples of a line."""
    layout = Layout(replace(library.artifact, arena_bytes=1))
    assert layout.size(1) % 64 == layout.state_at % 64 == layout.arena_at(2) % 64 == 0
