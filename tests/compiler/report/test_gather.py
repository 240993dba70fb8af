"""A report has all parts that there are, and says of the others why not."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.report.facts import Facts
from ncc.compiler.report.gather import gather
from ncc.compiler.report.request import Request
from tests.compiler.report.conftest import NETWORK, of_text


def test_the_interface_and_the_options(facts: Facts) -> None:
    """A report says what it is about, and misses nothing that can be had."""
    assert [(b.name, b.shape) for b in facts.inputs] == [("data", "16x8x8")]
    assert sorted(b.name for b in facts.outputs) == ["score", "side"]
    assert facts.about["optimization level"] == "-O2"
    assert facts.about["weights"] == "made up, from seed 0"
    assert facts.about["xdsl"][0].isdigit()
    assert (facts.missing, facts.time, facts.results) == ((), None, None)


def test_an_open_shape_gets_its_hint(tmp_path: Path) -> None:
    """The report is about one size, and says which; who asks for another gets it."""
    text = NETWORK.replace("0=8 1=8 2=16", "").replace("6=2304", "6=432")
    found = of_text(tmp_path, text)
    assert found.about["shapes for open extents"] == "data=3x224x224"
    assert found.inputs[0].shape == "3x224x224"
    assert found.kernels and not found.missing
    asked = of_text(tmp_path, text, input_shapes={"data": (None, 32, None)})
    assert asked.about["shapes for open extents"] == "data=3x32x224"


def test_a_type_that_nobody_knows(tmp_path: Path) -> None:
    """The layers are shown, and the rewrites around it."""
    found = of_text(tmp_path, NETWORK.replace("Sigmoid ", "Wavelet "))
    assert [one.what for one in found.missing] == ["kernels and memory plan"]
    assert "Wavelet" in found.missing[0].why
    assert {"first", "side"} <= {layer.name for layer in found.now}
    assert not found.steps and found.memory is None
    assert any("Wavelet" in text for text in found.notices)


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    """The layers are shown all the same."""
    found = of_text(tmp_path, NETWORK.replace("2=160", "2=170"))
    (missing,) = found.missing
    assert missing.what == "kernels and memory plan" and "score" in missing.why
    assert len(found.file) == 7


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """There is nothing to report on."""
    with pytest.raises(ModelError):
        of_text(tmp_path, "7767517\n1 1\nInput data 0 1\n")


@pytest.mark.slow
def test_results_and_times(tmp_path: Path) -> None:
    """Of a network so small that both take no time."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput x 0 1 x 0=64\nReLU r 1 1 x r\n")
    found = gather(Request(path, None, {"random_weights": 0}, rounds=1))
    assert found.time is not None and found.time.roof is not None
    assert found.time.least_ms > 0 and found.time.roof.gigaflops > 0
    assert all(step.bound in ("compute", "memory", "latency") for step in found.steps)
    assert found.results is not None
    outputs = [(row.blob, row.differs) for row in found.results.rows if row.is_output]
    assert outputs == [("r", False)]


def test_warnings_of_a_network_are_notices(tmp_path: Path) -> None:
    """Each once, however often the network is compiled; they are not shown as well."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput x 0 1 x 0=64\nReLU r 1 1 x r 7=1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gather(Request(path, None, {"random_weights": 0}, measured=False, compared=False))
    assert len(found.notices) == 1 and "7" in found.notices[0]
