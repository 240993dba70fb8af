"""Networks and layers as libraries for C on riscv64, run by an emulator.

NCC_QEMU_RISCV64 names another qemu-riscv64 than that of the system. Those before 8 end at vectors
that become integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.difference import difference
from ncc.compiler.write.write_network import write
from tests.c_programs import (
    RISCV64,
    SHARED,
    STATIC,
    Arrays,
    Library,
    arrays_of,
    done,
    emulated_riscv64,
    outputs_of,
    run,
)
from tests.compiler.library.small_networks import any_size, artifact_for
from tests.compiler.library.small_networks import compiled as on_host
from tests.emulated.emulator import Array, compiled
from tests.emulated.subjects import DIGITS, MODELS, PARTS, SHAPES, TOLERANCE, recordings
from tests.judge import failed, judge
from tests.recorded import Batch, Case

pytestmark = emulated_riscv64


@cache
def converts() -> bool:
    """Whether the emulator takes vectors that become integers."""
    found = re.search(r"version (\d+)", done([RISCV64.runner[0], "--version"]))
    return found is not None and int(found[1]) >= 8


def ran(library: Library, feeds: Arrays, kind: str = STATIC) -> bytes:
    """The outputs, which are the same on one thread and two."""
    one, two = (library.run(feeds, threads, kind) for threads in (1, 2))
    assert one == two
    return one


def results(library: Library, feeds: Arrays) -> Arrays:
    """The same as arrays."""
    return arrays_of(library.signature, ran(library, feeds))


def compare(library: Library, feeds: Arrays, expected: Arrays) -> None:
    """Outputs that are float32, linked statically and not."""
    found = ran(library, feeds)
    assert found == ran(library, feeds, SHARED)
    wanted = np.frombuffer(outputs_of(library.signature, expected), np.float32)
    assert difference(np.frombuffer(found, np.float32), wanted) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "no weights", "names", "caches", "int8"])
def test_every_kind_of_network(kind: str, tmp_path: Path) -> None:
    """The numbers of x86-64."""
    if kind in ("int8", "names") and not converts():
        pytest.skip("qemu-riscv64 is older than 8")
    network = on_host(kind)
    library = Library(artifact_for(kind, "rvv"), tmp_path, toolchain=RISCV64)
    compare(library, network.feeds, network.results)


@pytest.mark.slow
def test_digits(tmp_path: Path) -> None:
    """The network of the examples."""
    with np.load(DIGITS / "held_out.npz") as held_out:
        feeds = {"data": held_out["images"][0]}
    files = DIGITS / "digits.param", DIGITS / "digits.bin"
    library = Library(compiled(*files, "rvv"), tmp_path, toolchain=RISCV64)
    expected = ncc.compile(*files).run(feeds)["prob"]
    assert difference(results(library, feeds)["prob"], expected) <= TOLERANCE


ASK = """
#include "net.h"
int main(void) { return net_supported() ? 0 : net_create(NULL, 1) ? 2 : 1; }
"""


@pytest.mark.slow
def test_a_processor_without_vectors(tmp_path: Path) -> None:
    """The system says so, and no network is made."""
    main = Library(artifact_for("plain", "rvv"), tmp_path, toolchain=RISCV64).program(ASK)
    emulator, _, vectors, *folder = RISCV64.runner
    for processor, code in ((vectors, 0), ("rv64", 1)):
        assert run([emulator, "-cpu", processor, *folder, main]).returncode == code


@pytest.mark.slow
def test_any_size(tmp_path: Path) -> None:
    """A library for images of every size."""
    library = Library(any_size(target="rvv"), tmp_path, toolchain=RISCV64)
    model = ncc.Model(any_size())
    for shape in ((3, 31, 17), (3, 5, 40)):
        feeds = {"data": np.random.default_rng(1).random(shape, np.float32)}
        compare(library, feeds, model.run(feeds))


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["squeezenet", "mobilenet_v2", "shufflenet_v2", "squeezenet_int8"])
def test_benchmark_networks(name: str, tmp_path: Path) -> None:
    """With made-up weights, beside the code for this machine."""
    if "int8" in name and not converts():
        pytest.skip("qemu-riscv64 is older than 8")
    options: dict[str, Any] = {"random_weights": 1, "input_shapes": SHAPES.get(name, {})}
    param = MODELS / f"{name}.param"
    library = Library(compiled(param, None, "rvv", **options), tmp_path, toolchain=RISCV64)
    draw = np.random.default_rng(1)
    inputs = library.artifact.inputs
    feeds = {one.name: draw.uniform(-1, 1, one.shape).astype(np.float32) for one in inputs}
    compare(library, feeds, ncc.Model(compiled(param, None, "avx2", **options)).run(feeds))


def by_library(folder: Path) -> Callable[[Sequence[Case]], dict[str, Array]]:
    """Run recordings as one network."""

    def run_cases(cases: Sequence[Case]) -> dict[str, Array]:
        batch = Batch(cases)
        files = folder / "written.param", folder / "written.bin"
        write(read(*batch.write(folder), outputs=batch.outputs).module, *files)
        artifact = compiled(
            *files,
            "rvv",
            input_shapes={name: array.shape for name, array in batch.feeds.items()},
            input_types=batch.input_types,
            outputs=batch.outputs,
        )
        return dict(results(Library(artifact, folder, toolchain=RISCV64), batch.feeds))

    return run_cases


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_recordings(part: int, recorded_cases: Callable[[str], list[Case]], tmp_path: Path) -> None:
    """Some of every layer type, those of a quarter of the types in one network."""
    if not converts():
        pytest.skip("qemu-riscv64 is older than 8")
    some = recordings(part, "rvv", recorded_cases)
    assert not failed(judge(some, by_library(tmp_path)))
