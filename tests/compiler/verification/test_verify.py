"""Verification finds what is wrong, says how much, and names where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.driver import compile as front
from ncc.compiler.verification import oracle
from ncc.compiler.verification.verify import report_lines, verify
from ncc.runtime.errors import InputError

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
needs_ncnn = pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")


def test_a_function_that_ends_at_a_denormal_number_is_sound(tmp_path: Path) -> None:
    """The sigmoid of -100: 4e-39 in ncnn, 0 where denormal numbers are flushed."""
    param = tmp_path / "far.param"
    param.write_text(
        "7767517\n3 3\nInput x 0 1 x 0=8\nBinaryOp far 1 1 x far 0=1 1=1 2=100.0\n"
        "Sigmoid y 1 1 far y\n"
    )
    assert verify(param, random_weights=1).first is None


def test_a_sound_network_is_sound() -> None:
    """Every blob of the digits network, and once more its output as it is used."""
    report = verify(DIGITS / "digits.param")
    assert report.first is None
    assert [row.blob for row in report.rows if not row.fused][::9] == ["conv1", "prob"]
    assert [row.blob for row in report.rows if row.fused] == ["prob"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"feeds": {"data": "x.npy"}}, "no file is read here"),
        ({"feeds": "x.npy"}, "a dict of arrays"),
        ({"value_range": "0,1"}, "no range of numbers"),
        ({"seed": "one"}, "no seed"),
        ({"tolerance": "1e-4"}, "no such tolerance"),
        ({"tolerance": -1.0}, "no such tolerance"),
        ({"layers": "no"}, "layers is on or off"),
        ({"input_shapes": 3}, "a dict with strings as keys"),
        ({"inputs": {"data": "uint8,hwc"}}, "feeds it no pixels"),
        ({"outputs": ["prob"]}, "compares all outputs"),
    ],
)
def test_arguments_of_another_type_are_refused(wrong: dict[str, Any], said: str) -> None:
    """By an error of ncc that says what is wanted."""
    with pytest.raises(InputError, match=said):
        verify(DIGITS / "digits.param", **wrong)


def test_the_first_wrong_blob_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one of the blobs behind it, which are wrong as well."""
    compile = front.compile

    class Wrong:
        def __init__(self, model: Any) -> None:
            self.model, self.inputs, self.outputs = model, model.inputs, model.outputs
            self.close = model.close

        def run(self, feeds: Any) -> Any:
            values = self.model.run(feeds)
            wrong = ("pool2", "score")
            return {name: value + (name in wrong) for name, value in values.items()}

    monkeypatch.setattr(front, "compile", lambda *a, **o: Wrong(compile(*a, **o)))
    first = verify(DIGITS / "digits.param").first
    assert first is not None and (first.layer, first.type, first.fused) == (
        "pool2",
        "Pooling",
        False,
    )


@needs_ncnn
def test_random_weights_reach_ncnn() -> None:
    """Weights that have no file are written for it."""
    report = verify(DIGITS / "digits.param", random_weights=7)
    assert report.no_ncnn is None and report.first is None
    assert all(row.ncnn is not None for row in report.rows)


def test_without_ncnn_the_reference_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the report says why ncnn was not asked."""
    monkeypatch.setattr(oracle, "available", lambda: False)
    report = verify(DIGITS / "digits.param")
    assert report.first is None and report.no_ncnn is not None
    assert "pip install" in next(iter(report_lines(report)))
    with pytest.raises(Unsupported):
        oracle.run(DIGITS / "digits.param", DIGITS / "digits.bin", {})


@needs_ncnn
def test_blobs_of_16_bits(tmp_path: Path) -> None:
    """float16 and bfloat16 are held against ncnn's by what they are."""
    param, bin = tmp_path / "cast.param", tmp_path / "cast.bin"
    half, brain = "Cast h 1 1 a h 0=1 1=2\nCast f 1 1 h f 0=2 1=1", "Cast b 1 1 c b 0=1 1=4"
    lines = ["7767517", "5 6", "Input data 0 1 data 0=7", "Split s 1 2 data a c", half, brain, ""]
    param.write_text("\n".join(lines))
    bin.write_bytes(b"")
    report = verify(param, bin)
    assert report.no_ncnn is None
    assert report.first is None


@needs_ncnn
def test_ncnn_gives_blobs_by_name() -> None:
    """All of them, or those asked for."""
    feeds = {"data": np.zeros((1, 8, 8), np.float32)}
    every = oracle.run(DIGITS / "digits.param", DIGITS / "digits.bin", feeds)
    assert every["pool1"].shape == (16, 4, 4) and every["prob"].shape == (10,)
    some = oracle.run(DIGITS / "digits.param", DIGITS / "digits.bin", feeds, ["prob"])
    assert list(some) == ["prob"] and np.array_equal(some["prob"], every["prob"])


@needs_ncnn
@pytest.mark.parametrize(
    ("bin", "feed", "blob", "said"),
    [
        ("empty.bin", "data", "prob", "refuses the weights"),
        ("digits.bin", "date", "prob", "no input 'date'"),
        ("digits.bin", "data", "porb", "cannot compute blob 'porb'"),
    ],
)
def test_what_ncnn_refuses_is_an_error(
    bin: str, feed: str, blob: str, said: str, tmp_path: Path
) -> None:
    """It ends the worker, not this process, and its last words are handed on."""
    (tmp_path / "empty.bin").touch()
    weights = tmp_path / bin if bin == "empty.bin" else DIGITS / bin
    feeds = {feed: np.zeros((1, 8, 8), np.float32)}
    with pytest.raises(oracle.OracleError, match=said):
        oracle.run(DIGITS / "digits.param", weights, feeds, [blob])


@needs_ncnn
def test_a_crash_of_ncnn_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a run without an end."""
    script = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    run = subprocess.run

    def crash(command: list[str], **options: Any) -> Any:
        return run([sys.executable, "-c", script], **options)

    monkeypatch.setattr(subprocess, "run", crash)
    with pytest.raises(oracle.OracleError, match="crashed .SIGSEGV."):
        oracle.run(DIGITS / "digits.param", DIGITS / "digits.bin", {})
    script = "import time; time.sleep(60)"
    with pytest.raises(oracle.OracleError, match="did not finish within 0.2 seconds"):
        oracle.run(DIGITS / "digits.param", DIGITS / "digits.bin", {}, timeout=0.2)


@needs_ncnn
def test_a_crash_costs_one_job_only(tmp_path: Path) -> None:
    """Jobs before and behind the one that ncnn cannot do are answered, each error in its place."""
    too_long = tmp_path / "part.param"
    part = "Slice s 1 2 data y z -23300=2,100000000,-233"
    too_long.write_text(f"7767517\n2 3\nInput x 0 1 data\n{part}\n")
    weights, feeds = DIGITS / "digits.bin", {"data": np.zeros((1, 8, 8), np.float32)}
    good = oracle.Job(DIGITS / "digits.param", weights, feeds, ["prob"])
    refused = oracle.Job(DIGITS / "digits.param", weights, feeds, ["porb"])
    crashing = oracle.Job(too_long, weights, {"data": np.zeros(4, np.float32)}, ["y"])
    first, second, third, fourth = oracle.run_all([good, crashing, refused, good])
    # ncnn reads 400 MB behind four numbers.
    assert "crashed" in str(second)
    assert "cannot compute blob 'porb'" in str(third)
    assert isinstance(first, dict) and isinstance(fourth, dict)
    assert np.array_equal(first["prob"], fourth["prob"])


def test_batches_are_compared_whole(tmp_path: Path) -> None:
    """All samples of blobs inside of the network and of an output; also by ncnn."""
    lines = ["Input x 0 1 x 0=4 1=3 2=2", "Reshape a 1 1 x y 0=4 1=3 2=2 13=1"]
    lines += ["InnerProduct p 1 1 y p 0=2 2=8", "Softmax s 1 1 p s 0=0 1=1"]
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
    report = verify(path, random_weights=3)
    assert report.first is None
    shapes = {row.blob: row.shape for row in report.rows if not row.fused}
    assert shapes == {"y": (3, 2, 4), "p": (3, 2, 2), "s": (3, 2, 2)}
    assert [row.blob for row in report.rows if row.fused] == ["s"]
    if oracle.available():
        assert all(row.ncnn is not None for row in report.rows)
