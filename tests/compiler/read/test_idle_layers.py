"""Layers that make nothing, or make of nothing what nobody reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.read_network import read, read_graph
from ncc.compiler.verification import oracle
from ncc.dialects.ncnn.network import Network

Write = Callable[[str], Path]

NETWORK = "Input data 0 1 data 0=4\nReLU r 1 1 data a"
IDLE = [
    "Noop n 0 0",
    "Noop n 0 1 z",
    "Concat n 0 1 z",
    "Split n 0 2 z w",
    "SDPA n 0 3 z v w",
    "Input n 0 0",
    "Noop n 1 0 a",
    "Eltwise n 2 0 a data",
]


@pytest.mark.parametrize("line", IDLE)
def test_they_are_left_out_with_a_warning(write: Write, line: str) -> None:
    """What they read is an output if no other layer reads it; what they make is none."""
    found = read(write(f"{NETWORK}\n{line}"))
    network = Network.of(found.module)
    assert network.output_names == ["a"]
    assert [op.type_name for op in network.layers] == ["Input", "ReLU"]
    assert len(found.graph.layers) == 2
    kind, _, inputs, *_ = line.split()
    lack = "outputs" if inputs != "0" or kind == "Input" else "inputs"
    [warning] = found.warnings
    assert f"net.param:5: warning: {kind} 'n' has no {lack}" in warning


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
def test_ncnn_runs_such_files(write: Write, tmp_path: Path) -> None:
    """All of them, and what is left makes the same."""
    x = np.array([-1, 2, -3, 4], np.float32)
    jobs = []
    for number, line in enumerate(IDLE):
        path = write(f"{NETWORK}\n{line}").rename(tmp_path / f"{number}.param")
        path.with_suffix(".bin").touch()
        jobs.append(oracle.Job(path, path.with_suffix(".bin"), {"data": x}, ["a"]))
    for job, answer in zip(jobs, oracle.run_all(jobs), strict=True):
        assert not isinstance(answer, oracle.OracleError), str(answer)
        with pytest.warns(ncc.ModelWarning, match="it is left out"):
            model = ncc.compile(job.param)
        np.testing.assert_array_equal(model(x), answer["a"])


def test_two_that_need_each_other_alone(write: Write) -> None:
    """What is read by a layer that makes nothing is not needed."""
    found = read(write(f"{NETWORK}\nNoop m 0 1 z\nNoop n 1 0 z"))
    assert len(found.graph.layers) == len(found.warnings) == 2


@pytest.mark.parametrize(
    ("lines", "outputs"),
    [
        ("Noop n 0 1 z\nReLU s 1 1 z b", None),
        ("Noop n 0 1 z", ["z"]),
        ("ReLU n 0 1 z", None),
        ("ReLU n 1 0 data", None),
        ("InnerProduct n 1 0 data 0=1 2=4", None),
    ],
)
def test_others_are_wrong(write: Write, lines: str, outputs: list[str] | None) -> None:
    """What is read or asked for; types that ncnn takes with one blob alone; those with weights."""
    with pytest.raises(ModelError, match="'n' has a wrong number of"):
        read(write(f"{NETWORK}\n{lines}"), random_weights=0, outputs=outputs)


def test_a_network_that_ends_in_one_is_wrong(write: Write) -> None:
    """Without it there would be no output."""
    with pytest.raises(ModelError, match="'n' has a wrong number of inputs"):
        read(write("Noop n 0 1 z"))


def test_no_such_layer_is_written(write: Write, tmp_path: Path) -> None:
    """`ncc optimize` drops them."""
    made = tmp_path / "small.param"
    path = write(f"{NETWORK}\nNoop n 0 0")
    report = ncc.optimize(path, "null", made, made.with_suffix(".bin"))
    assert "it is left out" in report.warnings[0]
    assert [record.type.text for record in read_graph(made).layers] == ["Input", "ReLU"]
