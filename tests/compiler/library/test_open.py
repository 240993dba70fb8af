"""Libraries for inputs of any size: what they compute, and what they refuse."""

from __future__ import annotations

import ctypes
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.library.error_numbers import EBUSY, ENOMEM, ERANGE
from ncc.compiler.library.layout import BUSY, Layout
from ncc.runtime.memory import Memory
from ncc.runtime.session import Model
from tests.c_programs import (
    AARCH64,
    SHARED,
    STATIC,
    VALGRIND,
    WARNINGS,
    Library,
    Loaded,
    Toolchain,
    done,
    emulated,
    needs_cc,
    needs_valgrind,
    outputs_of,
    run,
)
from tests.compiler.library.small_networks import any_size
from tests.crossed import some

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
@pytest.mark.slow
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


LIMITED = """
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "net.h"

static int memory_left, taken;
int posix_memalign(void **place, size_t alignment, size_t size) {
  if (memory_left-- <= 0) return ENOMEM;
  taken++;
  *place = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *place ? 0 : ENOMEM;
}
void __real_free(void *);
void __wrap_free(void *place) {
  taken -= place != NULL;
  __real_free(place);
}

static float data[3 * 40 * 40], sums[8 * 40 * 40], prob[NET_PROB_ELEMENTS];

int main(void) {
  net_sizes small = {3, 3}, large = {40, 40};
  memory_left = 2;
  net *made = net_create(NULL, 1);
  if (!made || net_run(made, &small, data, sums, prob) || taken != 2) return 1;
  if (net_run(made, &large, data, sums, prob) != ENOMEM || taken != 1) return 2;
  if (net_run(made, &large, data, sums, prob) != ENOMEM || taken != 1) return 3;
  memory_left = 1;
  if (net_run(made, &small, data, sums, prob) || taken != 2) return 4;
  memory_left = 1;
  if (net_run(made, &large, data, sums, prob) || taken != 2) return 5;
  if (net_run(made, &small, data, sums, prob) || taken != 2) return 6;
  net_destroy(made);
  return taken ? 7 : 0;
}
"""


@needs_cc
def test_a_system_without_memory_for_an_arena(tmp_path: Path) -> None:
    """A run is an error, and nothing is lost: later runs that have memory are right."""
    library = Library(any_size(), tmp_path)
    assert run([library.program(LIMITED, STATIC, "-Wl,--wrap=free")]).returncode == 0


AT_ONCE = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "net.h"

enum { MOST = 24, SIZES = 5 };
static float data[3 * MOST * MOST], want[SIZES][8 * MOST * MOST];
static const net_sizes sizes[SIZES] = {{24, 24}, {1, 1}, {24, 5}, {2, 24}, {9, 9}};

static int differs(net *it, int n) {
  static _Thread_local float sums[8 * MOST * MOST], prob[NET_PROB_ELEMENTS];
  net_shapes shapes;
  if (net_infer_shapes(&sizes[n], &shapes) || net_run(it, &sizes[n], data, sums, prob)) return 1;
  return memcmp(sums, want[n], NET_SUMS_ELEMENTS(&shapes) * sizeof *sums) != 0;
}

static void *work(void *given) {
  int *threads = given, wrong = 0;
  net *it = net_create(NULL, *threads);
  for (int n = 0; n < RUNS; n++) wrong += !it || differs(it, n * n % SIZES);
  net_destroy(it);
  *threads = wrong;
  return NULL;
}

int main(void) {
  for (int n = 0; n < 3 * MOST * MOST; n++) data[n] = (float)(n % 17) / 16;
  net *it = net_create(NULL, 1);
  float prob[NET_PROB_ELEMENTS];
  for (int n = 0; n < SIZES; n++)
    if (!it || net_run(it, &sizes[n], data, want[n], prob)) return 1;
  net_destroy(it);
  int given[6] = {1, 2, 2, 1, 2, 2};
  pthread_t threads[6];
  for (int n = 0; n < 6; n++)
    if (pthread_create(&threads[n], NULL, work, &given[n])) return 2;
  int wrong = 0;
  for (int n = 0; n < 6; n++) {
    pthread_join(threads[n], NULL);
    wrong += given[n];
  }
  return wrong ? 3 : 0;
}
"""


@needs_cc
@pytest.mark.slow
def test_six_networks_at_changing_sizes(tmp_path: Path) -> None:
    """At once, on one thread and two, some of which come late."""
    library = Library(any_size(), tmp_path)
    assert run([library.program(AT_ONCE, STATIC, "-DRUNS=400")]).returncode == 0


@needs_cc
@pytest.mark.slow
def test_the_sanitizer_of_threads_finds_nothing(tmp_path: Path) -> None:
    """As far as it sees."""
    library = Library(any_size(), tmp_path)
    main = library.program(AT_ONCE, STATIC, "-DRUNS=100", "-fsanitize=thread")
    ended = run(["setarch", "-R", main])
    if "unexpected memory mapping" in ended.stderr:
        pytest.skip("the sanitizer cannot run here")
    assert ended.returncode == 0 and not ended.stderr, ended.stderr


@needs_cc
@needs_valgrind
@pytest.mark.slow
def test_valgrind_finds_nothing(tmp_path: Path) -> None:
    """Nothing leaks, and no memory is read or written that is not there, at any size."""
    library = Library(any_size(target="avx2"), tmp_path)
    ended = run([*VALGRIND, library.program(AT_ONCE, STATIC, "-DRUNS=10")])
    assert ended.returncode == 0 and not ended.stderr, ended.stderr


@pytest.mark.parametrize("target", some(["neondot", "neon"], usual=1))
def test_another_processor_has_code_for_every_size(target: str) -> None:
    """Single elements at the end of a row are read as such."""
    assert any_size(target=target).sizes is not None


@emulated
@pytest.mark.slow
def test_aarch64(tmp_path: Path) -> None:
    """The same bits on one thread and two; the numbers of x86-64."""
    artifact = any_size(target="neon")
    library = Library(artifact, tmp_path, toolchain=AARCH64)
    x = image(31, 18)
    one, two = (library.run({"data": x}, threads, runs=2) for threads in (1, 2))
    with Model(any_size(), 1) as model:
        expected = outputs_of(library.signature, model.run({"data": x}))
    assert one == two
    values, wanted = (np.frombuffer(bytes, np.float32) for bytes in (one, expected))
    np.testing.assert_allclose(values, wanted, atol=1e-5 * np.abs(wanted).max())


@needs_cc
@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_headers_of_every_standard(compiler: str, tmp_path: Path) -> None:
    """No compiler warns, of C99 to C17 and of C++11 to C++20."""
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    Library(any_size(), tmp_path)
    is_cpp = compiler.endswith("++")
    source = tmp_path / ("main.cc" if is_cpp else "main.c")
    header = "net.hpp" if is_cpp else "net.h"
    source.write_text(f'#include "{header}"\nint main(void) {{ return !net_supported(); }}\n')
    for standard in ("c++11", "c++17", "c++20") if is_cpp else ("c99", "c11", "c17"):
        library = tmp_path / "libnet.a", "-pthread"
        command = [compiler, f"-std={standard}", *WARNINGS, source, *library, "-o", tmp_path / "a"]
        done(command)
        assert run([tmp_path / "a"]).returncode == 0


@needs_cc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="there is no musl-gcc")
@pytest.mark.parametrize("kind", [STATIC, SHARED])
def test_another_c_library(kind: str, tmp_path: Path) -> None:
    """A library has no C library of its own: that of the program has all that it calls."""
    library = Library(any_size(), tmp_path, toolchain=Toolchain("musl-gcc"))
    options = ("-DRUNS=40", *(["-static"] if kind == STATIC else []))
    assert run([library.program(AT_ONCE, kind, *options)]).returncode == 0
