"""The kernels level of a network, and the explanation of one kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ncc.compiler.cli import ncc as command
from ncc.compiler.loops.explain_kernel import explain_kernels
from ncc.compiler.loops.kernels_text import KernelsText
from ncc.compiler.loops.schedule.scheduled_kernel import parse_kernels
from ncc.compiler.pipeline import kernels_of
from ncc.runtime.errors import InputError

NETWORK = """7767517
4 4
Input data 0 1 data 0=12 1=12 2=16
Convolution first 1 1 data c1 0=16 1=1 5=1 6=256 9=1
Convolution second 1 1 c1 c2 0=16 1=1 5=1 6=256 9=1
Softmax prob 1 1 c2 out 0=0 1=1
"""


@pytest.fixture(name="path")
def param_file(tmp_path: Path) -> Path:
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    return path


@pytest.fixture(name="kernels")
def kernels_of_the_network(path: Path) -> KernelsText:
    return kernels_of(path, random_weights=1, target="avx2")


def test_every_function_is_told_with_its_layers(kernels: KernelsText) -> None:
    """In the order of the steps; a function without a kernel is a comment."""
    text = str(kernels)
    places = [text.index(f"@{unit.name}") for unit in kernels.loops.units]
    assert places == sorted(places)
    for unit in kernels.loops.units:
        assert f"layers: {', '.join(kernels.loops.layers_of(unit))}" in text


def test_emit(path: Path) -> None:
    """The text of the command line parses."""
    emitting = ["compile", str(path), "--random-weights", "1", "--emit", "kernels"]
    done = CliRunner().invoke(command, emitting, catch_exceptions=False)
    assert done.exit_code == 0
    assert {"kernel", "//"} <= set(done.stdout.split())
    assert len(parse_kernels(done.stdout)) == done.stdout.count("\nkernel @") + 1


def test_cycles_of_a_kernel_of_any_size_are_not_told(path: Path) -> None:
    """Its own sizes have hints that no image has. So are its chunks, which are long expressions."""
    shapes = {"data": (16, None, None)}
    text = str(kernels_of(path, random_weights=1, target="avx2", input_shapes=shapes))
    assert "in chunks that the run counts\n" in text
    assert max(map(len, text.splitlines())) < 400
    assert "cycles: not counted, since the run tells the sizes" in text
    assert "runner-up" not in text and "(tuned)" not in text


def test_a_layer_names_its_kernels(kernels: KernelsText) -> None:
    """So does the kernel; memory is told once for all steps that touch as much."""
    by_layer = list(explain_kernels(kernels, ["second"]))
    (name,) = [line.removeprefix("@") for line in by_layer if line.startswith("@")]
    assert list(explain_kernels(kernels, [name])) == by_layer
    assert any("cycles: " in line for line in by_layer)
    assert any(line.endswith("not dot: its operands are not bytes") for line in by_layer)
    assert sum("bytes of data" in line for line in by_layer) >= 1


def test_unknown_names(kernels: KernelsText) -> None:
    """The nearest name is proposed."""
    with pytest.raises(InputError, match="second"):
        list(explain_kernels(kernels, ["secnd"]))


def test_explain(path: Path) -> None:
    """By lines and as JSON; not together with explanations of rewrites."""
    explaining = ["explain", str(path), "null", "--kernel", "first"]
    lines = CliRunner().invoke(command, explaining, catch_exceptions=False).stdout.splitlines()
    told = CliRunner().invoke(command, [*explaining, "--json"], catch_exceptions=False).stdout
    assert json.loads(told) == {"kernels": lines}
    refused = CliRunner().invoke(command, [*explaining, "--blob", "c1"])
    assert refused.exit_code == 2
