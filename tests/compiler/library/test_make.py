"""Libraries of whole networks: results in C have the bits of those in Python."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ncc.compiler.driver.compile import compile_with
from ncc.compiler.library import make
from ncc.compiler.library.host import C_LIBRARY
from ncc.compiler.library.make import library_files, write_library
from ncc.compiler.library.signature import name_like
from ncc.compiler.options import Options
from ncc.runtime.errors import ArtifactError, InputError
from tests.c_programs import (
    SHARED,
    STATIC,
    VERSION,
    Library,
    done,
    needs_cc,
    outputs_of,
    program,
    run,
)
from tests.compiler.library.small_networks import KINDS, Compiled, compiled
from tests.onnx.models import model as onnx_model
from tests.onnx.models import written

needs_nm = pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")


@needs_cc
@pytest.mark.slow
@pytest.mark.parametrize("embedded", [True, False], ids=["embedded", "file"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network(kind: str, embedded: bool, tmp_path: Path) -> None:
    """On one thread and two, linked statically and not, with weights inside and beside."""
    network = compiled(kind)
    library = Library(network.artifact, tmp_path, embedded=embedded)
    expected = outputs_of(library.signature, network.results)
    for linked in (STATIC, SHARED):
        for threads in (1, 2):
            found = library.run(network.feeds, threads, linked, runs=3)
            assert found == expected, f"{linked}, {threads} threads"


@needs_cc
@pytest.mark.parametrize("kind", ["rows", "caches"])
def test_sizes_of_runs(kind: str, tmp_path: Path) -> None:
    """Rows that a run has found, and caches."""
    network = compiled(kind)
    library = Library(network.artifact, tmp_path)
    assert library.run(network.feeds, 2) == outputs_of(library.signature, network.results)
    if kind == "rows":
        (found,) = network.results.values()
        assert 0 < len(found) < 50


@needs_cc
@pytest.mark.slow
def test_types_of_onnx(tmp_path: Path) -> None:
    """Every type that an .onnx feeds or makes has one in C; names may be paths."""
    nodes = [
        helper.make_node("Greater", ["/in/x", "/in/y"], ["out/0"]),
        helper.make_node("Where", ["/in/mask", "/in/x", "/in/y"], ["out/1"]),
        helper.make_node("Cast", ["out/0"], ["out/2"], to=TensorProto.INT16),
        helper.make_node("Cast", ["out/0"], ["out/3"], to=TensorProto.UINT64),
        helper.make_node("Cast", ["out/0"], ["out/4"], to=TensorProto.UINT32),
        helper.make_node("Cast", ["/in/x"], ["out/5"], to=TensorProto.FLOAT16),
    ]
    x, y = np.array([[1.5, -2, 0]]), np.array([[1.0], [-3.0]])
    feeds = {"/in/x": x, "/in/y": y, "/in/mask": np.array([[True], [False]])}
    path = written(tmp_path, onnx_model(nodes, feeds, [f"out/{n}" for n in range(6)]))
    model = compile_with(path, None, Options.of(tuned=False))
    library = Library(model.artifact, tmp_path)
    assert library.run(feeds) == outputs_of(library.signature, model.run(feeds))


TWO = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "first.h"
#include "second.h"

static float data[FIRST_DATA_ELEMENTS];
static float want1[FIRST_PROB_ELEMENTS], want2[SECOND_PROB_ELEMENTS];
typedef struct { int second, threads, wrong; } job;

static void *work(void *given) {
  job *it = given;
  for (int again = 0; again < 3; again++) {
    first *a = it->second ? NULL : first_create(NULL, it->threads);
    second *b = it->second ? second_create(NULL, it->threads) : NULL;
    it->wrong += !a && !b;
    for (int n = 0; n < RUNS; n++) {
      float out1[FIRST_PROB_ELEMENTS], out2[SECOND_PROB_ELEMENTS];
      if (a) it->wrong += first_run(a, data, out1) || memcmp(out1, want1, sizeof out1);
      if (b) it->wrong += second_run(b, data, out2) || memcmp(out2, want2, sizeof out2);
    }
    first_destroy(a);
    second_destroy(b);
  }
  return NULL;
}

int main(void) {
  for (int n = 0; n < FIRST_DATA_ELEMENTS; n++) data[n] = (float)(n % 17) / 16;
  first *a = first_create(NULL, 1);
  second *b = second_create(NULL, 1);
  if (!a || !b || first_run(a, data, want1) || second_run(b, data, want2)) return 1;
  first_destroy(a);
  second_destroy(b);
  if (!memcmp(want1, want2, sizeof want1)) return 2;
  job jobs[6] = {{0, 1, 0}, {0, MOST, 0}, {0, MOST, 0}, {1, 1, 0}, {1, MOST, 0}, {1, MOST, 0}};
  pthread_t threads[6];
  for (int n = 0; n < 6; n++)
    if (pthread_create(&threads[n], NULL, work, &jobs[n])) return 3;
  int wrong = 0;
  for (int n = 0; n < 6; n++) {
    pthread_join(threads[n], NULL);
    wrong += jobs[n].wrong;
  }
  return wrong ? 4 : 0;
}
"""


def two_networks(folder: Path, kind: str, *options: str, target: str = "host") -> Path:
    """A program with two networks, of which three instances run at once each."""
    libraries = []
    for seed, name in ((1, "first"), (2, "second")):
        artifact = compiled("plain", target, seed).artifact
        libraries.append(Library(artifact, folder / name, name))
    return program(libraries, TWO, kind, *options)


@needs_cc
@pytest.mark.parametrize("kind", [STATIC, SHARED])
def test_two_networks_in_six_threads(kind: str, tmp_path: Path) -> None:
    """Networks with kernels of the same names, and instances of one network, do not meet."""
    assert run([two_networks(tmp_path, kind, "-DRUNS=40", "-DMOST=2")]).returncode == 0


@needs_cc
@pytest.mark.slow
def test_the_sanitizer_of_threads_finds_nothing(tmp_path: Path) -> None:
    """As far as it sees: code of a library is not instrumented, threads and memory are."""
    main = two_networks(tmp_path, STATIC, "-DRUNS=40", "-DMOST=2", "-fsanitize=thread")
    ended = run(["setarch", "-R", main])
    if "unexpected memory mapping" in ended.stderr:
        pytest.skip("the sanitizer cannot run here")
    assert ended.returncode == 0 and not ended.stderr, ended.stderr


@needs_cc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")
def test_helgrind_finds_nothing_that_instances_share(tmp_path: Path) -> None:
    """Six instances of one thread each. (It takes the atomics of several threads for races.)"""
    main = two_networks(tmp_path, STATIC, "-DRUNS=3", "-DMOST=1", target="avx2")
    ended = run(["valgrind", "--tool=helgrind", "--quiet", "--error-exitcode=80", main])
    assert ended.returncode == 0 and not ended.stderr, ended.stderr


def names(output: str, kinds: str) -> set[str]:
    """The names of symbols of some kinds, as nm prints them."""
    return {line.split()[-1] for line in output.splitlines() if re.search(f" [{kinds}] ", line)}


@needs_nm
def test_names_of_a_library(library: Library) -> None:
    """A program sees the functions of the header and the text, and the C library has the rest."""
    for command in (
        ["nm", "-g", library.folder / "libnet.a"],
        ["nm", "-D", library.folder / "libnet.so"],
    ):
        output = done(command)
        shown, needed = names(output, "TR"), names(output, "U")
        api = {one for one in shown if re.fullmatch(r"net_[a-z]+_[0-9a-f]{8}", one)}
        assert len(api) == 9 and shown - api == {"net_info"}
        assert needed - api == set(C_LIBRARY)


CLASHES = """
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include "open_net.h"
#include "string_net.h"
#include "net_pthread.h"

int main(void) {
  return open_net_check(NULL, 1) || string_net_check(NULL, 1) || net_pthread_check(NULL, 1);
}
"""


@needs_cc
def test_names_that_the_c_library_has(plain: Compiled, tmp_path: Path) -> None:
    """A type, a header and functions get other names, so that a program includes both."""
    names = [name_like(taken) for taken in ("open", "string", "pthread")]
    libraries = [Library(plain.artifact, tmp_path, name) for name in names]
    assert run([program(libraries, CLASHES, STATIC)]).returncode == 0


@needs_nm
@needs_cc
def test_a_library_in_a_library(library: Library, tmp_path: Path) -> None:
    """A shared object made of the static library shows no more than that."""
    made = tmp_path / "libmore.so"
    archive = library.folder / "libnet.a"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-Wl,--fatal-warnings"]
    done(["cc", "-shared", "-o", made, *whole, "-Wl,-z,text"])
    shown = {name for name in names(done(["nm", "-D", made]), "TR") if name.startswith("net_")}
    assert len(shown) == 10 and len(names(done(["nm", "-D", made]), "TR")) == 10


@needs_cc
def test_another_header_does_not_link(library: Library, tmp_path: Path) -> None:
    """A program that was compiled for other buffers finds no function."""
    header = (library.folder / "net.h").read_text()
    number = re.findall(r"net_run_([0-9a-f]{8})", header)[0]
    (tmp_path / "net.h").write_text(header.replace(number, "00000000"))
    source = tmp_path / "main.c"
    source.write_text('#include "net.h"\nint main(void) { return net_supported(); }\n')
    archive = library.folder / "libnet.a"
    ended = run(["cc", source, archive, "-pthread", "-o", tmp_path / "main"])
    assert ended.returncode != 0 and "net_supported_00000000" in ended.stderr


def test_the_same_model_gives_the_same_bytes(plain: Compiled) -> None:
    """Nothing of a library tells when it was made."""
    first, second = (library_files(plain.artifact, "net", VERSION, False) for _ in range(2))
    assert list(first) == [
        "libnet.a", "libnet.so", "net.h", "net.hpp", "netConfig.cmake", "net.weights",
    ]  # fmt: skip
    for name, pieces in first.items():
        assert b"".join(pieces.buffers) == b"".join(second[name].buffers)
        assert pieces.size == sum(map(len, pieces.buffers))


def test_nothing_is_left_of_an_interruption(
    plain: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are written under other names, and all renamed at the end."""
    write_library(plain.artifact, tmp_path, "net", VERSION)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    other = compiled("int8").artifact
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_library(other, tmp_path, "net", VERSION)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_objects_that_are_broken(plain: Compiled, tmp_path: Path) -> None:
    """Neither what is no object, nor that of an unknown processor, nor code that misses a part of
    itself gets into a library.
    """
    threads, *others = plain.artifact.objects
    foreign = threads[:18] + (8).to_bytes(2, "little") + threads[20:]  # MIPS
    for objects in ((threads[:100], *others), (foreign, *others), tuple(others)):
        with pytest.raises(ArtifactError, match="cannot be loaded|refers to ncc_"):
            write_library(replace(plain.artifact, objects=objects), tmp_path, "net", VERSION)
    assert not list(tmp_path.iterdir())


def test_weights_that_code_cannot_reach(
    plain: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large weights go into a file."""
    monkeypatch.setattr(make, "MOST_EMBEDDED", 100)
    with pytest.raises(InputError, match="--weights=file"):
        write_library(plain.artifact, tmp_path / "in", "net", VERSION)
    assert not (tmp_path / "in").exists()
    write_library(plain.artifact, tmp_path / "out", "net", VERSION, embedded=False)
    assert (tmp_path / "out" / "net.weights").exists()
