"""The functions that take memory and threads from the C library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.c_programs import (
    STATIC,
    VALGRIND,
    Library,
    inputs_of,
    main_text,
    needs_cc,
    needs_valgrind,
    outputs_of,
    run,
)
from tests.compiler.library.small_networks import compiled


@needs_cc
@needs_valgrind
@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_valgrind_finds_nothing(threads: int, tmp_path: Path) -> None:
    """Nothing leaks, and no memory is read or written that is not there. (It has no AVX-512.)"""
    network = compiled("plain", "avx2")
    library = Library(network.artifact, tmp_path)
    (tmp_path / "inputs").write_bytes(inputs_of(library.signature, network.feeds))
    main = library.program(main_text(library.signature), STATIC)
    files = tmp_path / "inputs", tmp_path / "outputs"
    ended = run([*VALGRIND, main, threads, 3, *files])
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    expected = outputs_of(library.signature, network.results)
    assert (tmp_path / "outputs").read_bytes() == expected


LIMITED = """
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include "net.h"

static int threads_left, memory_left, taken, running;
int posix_memalign(void **place, size_t alignment, size_t size) {
  if (memory_left-- <= 0) return ENOMEM;
  taken++;
  *place = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *place ? 0 : ENOMEM;
}
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *to, const pthread_attr_t *how, void *(*work)(void *),
                          void *it) {
  if (threads_left-- <= 0) return EAGAIN;
  running++;
  return __real_pthread_create(to, how, work, it);
}
int __real_pthread_join(pthread_t, void **);
int __wrap_pthread_join(pthread_t thread, void **result) {
  running--;
  return __real_pthread_join(thread, result);
}
void __real_free(void *);
void __wrap_free(void *place) {
  taken -= place != NULL;
  __real_free(place);
}

int main(void) {
  net_destroy(NULL);
  if (net_create(NULL, 2) || taken) return 1;
  memory_left = 1;
  if (net_create(NULL, 2) || taken || running) return 2;
  memory_left = threads_left = 1;
  net *made = net_create(NULL, 2);
  if (!made || taken != 1 || running != 1) return 3;
  net_destroy(made);
  return taken || running ? 4 : 0;
}
"""


@needs_cc
def test_a_system_without_memory_or_threads(library: Library) -> None:
    """No network is made, and what was taken for it is given back."""
    wrapped = (f"-Wl,--wrap={name}" for name in ("pthread_create", "pthread_join", "free"))
    assert run([library.program(LIMITED, STATIC, *wrapped)]).returncode == 0


BUSY = """
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "net.h"

static float data[NET_DATA_ELEMENTS], want[NET_PROB_ELEMENTS];
static net *shared;

static void *work(void *wrong) {
  for (int n = 0; n < 300; n++) {
    float out[NET_PROB_ELEMENTS];
    int error = net_run(shared, data, out);
    if (error ? error != EBUSY : memcmp(out, want, sizeof out) != 0) ++*(int *)wrong;
  }
  return NULL;
}

int main(void) {
  for (int n = 0; n < NET_DATA_ELEMENTS; n++) data[n] = (float)(n % 5);
  shared = net_create(NULL, 2);
  if (!shared || net_run(shared, data, want)) return 1;
  pthread_t threads[3];
  int wrong[3] = {0, 0, 0};
  for (int n = 0; n < 3; n++)
    if (pthread_create(&threads[n], NULL, work, &wrong[n])) return 2;
  for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);
  float out[NET_PROB_ELEMENTS];
  if (net_run(shared, data, out) || memcmp(out, want, sizeof out)) return 3;
  net_destroy(shared);
  return wrong[0] + wrong[1] + wrong[2] ? 4 : 0;
}
"""


@needs_cc
def test_one_network_from_several_threads(library: Library) -> None:
    """A run is right, or it says that another one is under way."""
    assert run([library.program(BUSY, STATIC)]).returncode == 0
