"""Libraries for aarch64: linked by a cross compiler, and run by an emulator."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.library.machine import AARCH64 as MACHINE
from ncc.compiler.library.make import write_library
from ncc.compiler.library.processor import processor_text
from ncc.compiler.library.signature import FUNCTIONS
from ncc.runtime.errors import ArtifactError
from tests.c_programs import (
    AARCH64,
    SHARED,
    STATIC,
    VERSION,
    WARNINGS,
    Library,
    done,
    emulated,
    outputs_of,
    run,
)
from tests.compiler.library.small_networks import KINDS, any_size, artifact_for, compiled

FLOATS = ("plain", "int8", "no weights", "names", "caches")
"""The kinds whose outputs are numbers of float32, as many in each run."""


def library(kind: str, target: str, folder: Path, embedded: bool = True) -> Library:
    return Library(artifact_for(kind, target), folder, embedded=embedded, toolchain=AARCH64)


@emulated
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network(kind: str, tmp_path: Path) -> None:
    """The same bits on one thread and two, linked statically and not; the numbers of x86-64."""
    network, made = compiled(kind), library(kind, "neon", tmp_path)
    found = {
        made.run(network.feeds, threads, linked, runs=3)
        for linked in (STATIC, SHARED)
        for threads in (1, 2)
    }
    assert len(found) == 1
    if kind in FLOATS:
        expected = np.frombuffer(outputs_of(made.signature, network.results), np.float32)
        values = np.frombuffer(found.pop(), np.float32)
        np.testing.assert_allclose(values, expected, atol=1e-5 * np.abs(expected).max())


@emulated
@pytest.mark.slow
def test_weights_in_a_file(tmp_path: Path) -> None:
    """They are mapped, and checked."""
    network = compiled("plain")
    inside = library("plain", "neon", tmp_path / "inside").run(network.feeds)
    made = library("plain", "neon", tmp_path / "beside", embedded=False)
    assert made.run(network.feeds) == inside
    made.weights.write_bytes(bytes(made.weights.stat().st_size))
    assert made.ended(network.feeds, 1).returncode == 95


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(net CONFIG REQUIRED)
add_library(app SHARED app.c)
target_link_libraries(app ncc::net)
add_executable(program program.c)
target_link_libraries(program app)
"""

APP = """
#include "net.h"
static float data[NET_DATA_ELEMENTS], prob[NET_PROB_ELEMENTS];
int app(void);
int app(void) {
  net *made = net_create(NULL, 2);
  int error = made ? net_run(made, data, prob) : 1;
  net_destroy(made);
  return error;
}
"""


@emulated
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
def test_a_cross_compilation_by_cmake(tmp_path: Path) -> None:
    """A native library of a project, as that of Android's, which looks for packages in its own
    folders only.
    """
    library("plain", "neon", tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "app.c").write_text(APP)
    (tmp_path / "program.c").write_text("int app(void);\nint main(void) { return app(); }\n")
    options = (
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        f"-DCMAKE_C_COMPILER={AARCH64.cc}",
        f"-DCMAKE_FIND_ROOT_PATH={AARCH64.runner[-1]}",
        "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY",
        f"-Dnet_DIR={tmp_path / 'net'}",
    )
    done(["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options])
    done(["cmake", "--build", tmp_path / "build"])
    assert run([*AARCH64.runner, tmp_path / "build" / "program"]).returncode == 0


ASK = '#include "net.h"\nint main(void) { return net_supported(); }\n'


@emulated
@pytest.mark.slow
def test_a_processor_that_lacks_instructions(tmp_path: Path) -> None:
    """Of two processors only one has dot products of bytes; the system says so."""
    main = library("plain", "neondot", tmp_path).program(ASK, STATIC)
    for processor, has in (("cortex-a57", 0), ("cortex-a76", 1)):
        command = [*AARCH64.runner, "-cpu", processor, main]
        assert run(command).returncode == has


def test_what_the_system_is_asked() -> None:
    """A word of the auxiliary vector with all bits of it."""
    symbols = {one: one for one in FUNCTIONS}
    text = processor_text(MACHINE, frozenset({"asimd", "asimddp", "i8mm"}), symbols)
    assert "%getauxval(i64 16)" in text and f", {1 << 1 | 1 << 20}\n" in text
    assert "%getauxval(i64 26)" in text and f", {1 << 13}\n" in text


def test_a_feature_that_is_not_known() -> None:
    """The system has no word for it."""
    with pytest.raises(ArtifactError, match="needs neon2,"):
        processor_text(MACHINE, frozenset({"asimd", "neon2"}), {"supported": "supported"})


@emulated
@pytest.mark.slow
def test_a_shared_object_of_the_archive(tmp_path: Path) -> None:
    """As a project for Android makes it: without relocations in code, and with no other name."""
    made = library("plain", "neon", tmp_path)
    archive = tmp_path / "libnet.a"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-Wl,-z,text"]
    done(
        [
            AARCH64.cc,
            *WARNINGS,
            "-shared",
            "-Wl,--fatal-warnings",
            *whole,
            "-o",
            tmp_path / "libapp.so",
        ]
    )
    names = done([f"{AARCH64.cc[:-3]}nm", "-D", tmp_path / "libapp.so"])
    assert made.signature.name == "net" and names.count(" T net_") == 9


MAKES = "net *app(void) { return net_supported() ? net_create(NULL, 2) : NULL; }\n"
BIONIC = ("posix_memalign", "free", "madvise", "pthread_create", "pthread_join", "getauxval")
"""What docs/use.md says that a library calls."""


@emulated
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="there is no ld.lld")
@pytest.mark.parametrize("is_open", [False, True])
def test_linked_as_for_android(is_open: bool, tmp_path: Path) -> None:
    """By LLVM's linker with the options of the NDK, against no other names than those of bionic."""
    artifact = any_size(target="neon") if is_open else artifact_for("plain", "neon")
    write_library(artifact, tmp_path, "net", VERSION)
    (tmp_path / "c.c").write_text("".join(f"void {name}(void) {{}}\n" for name in BIONIC))
    (tmp_path / "app.c").write_text('#include "net.h"\nnet *app(void);\n' + MAKES)
    plain = [AARCH64.cc, "-nostdlib", "-fno-builtin", "-fPIC", f"-I{tmp_path}"]
    c_library = tmp_path / "libc.so"
    done([*plain, "-shared", "-Wl,-soname,libc.so", tmp_path / "c.c", "-o", c_library])
    done([*plain, "-c", tmp_path / "app.c", "-o", tmp_path / "app.o"])
    options = (
        "-shared", "--no-undefined", "--fatal-warnings", "-soname", "libapp.so",
        "-z", "max-page-size=16384", "-z", "now", "-z", "relro", "-z", "text",
        "--pack-dyn-relocs=android", "--exclude-libs=ALL",
    )  # fmt: skip
    inputs = [tmp_path / "app.o", tmp_path / "libnet.a", c_library]
    done(["ld.lld", *options, *inputs, "-o", tmp_path / "libapp.so"])
    shown = done([f"{AARCH64.cc[:-3]}nm", "-D", "--defined-only", tmp_path / "libapp.so"])
    assert [line.split()[-1] for line in shown.splitlines()] == ["app"]
