"""The network of the examples: small enough for every way of compiling it, every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.read.read_network import read
from ncc.compiler.target import Target
from ncc.compiler.verification import oracle
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.verify import computed_blobs
from ncc.compiler.write.write_network import write
from ncc.runtime import cpu
from tests.crossed import crossed

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
PARAM, BIN = DIGITS / "digits.param", DIGITS / "digits.bin"
TARGETS = ("avx512", "avx2", "baseline")


@pytest.fixture(scope="module")
def image() -> Any:
    """A handwritten digit."""
    with np.load(DIGITS / "held_out.npz") as held_out:
        return held_out["images"][0]


@pytest.fixture(scope="module")
def expected(image: Any) -> dict[str, Any]:
    """Every blob by ncnn."""
    if not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    return oracle.run(PARAM, BIN, {"data": image})


@pytest.mark.parametrize(("level", "target"), crossed(range(4), TARGETS))
def test_it_is_what_ncnn_computes(
    level: int, target: str, image: Any, expected: dict[str, Any]
) -> None:
    """At every level, for every target, on one thread and on two."""
    if not Target.of(target).features <= cpu.features():
        pytest.skip(f"this CPU cannot run {target}")
    model = ncc.compile(PARAM, opt_level=level, target=target, num_threads=2)
    for threads in (1, 2):
        found = ncc.Model(model.artifact, threads)(image)
        assert difference(found, expected["prob"]) <= 1e-4


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_blob_can_be_asked_for(level: int, image: Any, expected: dict[str, Any]) -> None:
    """All of them at once, by name."""
    names = computed_blobs(read(PARAM).module)
    values = ncc.compile(PARAM, opt_level=level, outputs=names).run({"data": image})
    assert list(values) == names
    apart = {name: difference(values[name], expected[name]) for name in names}
    assert max(apart.values()) <= 1e-4, apart


def test_weights_are_written_as_they_were_read(tmp_path: Path) -> None:
    """Reading a .bin and writing it gives the same bytes."""
    write(read(PARAM).module, tmp_path / "again.param", tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == BIN.read_bytes()
