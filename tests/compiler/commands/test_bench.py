"""`ncc bench`: tables that can be read, whatever the terminal and the names."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from ncc.compiler.cli import run
from ncc.compiler.commands.bench import show
from ncc.compiler.commands.feeding import require_onnx
from ncc.compiler.measure.bench import Benchmark, StepCost
from ncc.compiler.measure.roofline import Roofline
from ncc.compiler.measure.timing import Timing
from ncc.runtime.errors import InputError

STEPS = tuple(
    StepCost((name,), ("transform_1", "contraction_2"), 12.345, 10**9, 10**8, 0, 40, 60, 0.6, 0.5)
    for name in ("stage1/block[/1]/conv", "a_name_much_longer_than_what_a_line_has_room_for")
)
RESULT = Benchmark(
    model="net[a].param",
    target="avx2",
    threads=1,
    time=Timing(24.69, 25.0, 26.0, 100),
    multiply_adds=10**9,
    roofline=Roofline(1, 100.0, {1 << 20: 10.0}, tile_gigaflops=1000.0),
    footprint=1000,
    steps=STEPS,
    feeds={},
    outputs=(),
)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_numbers_are_whole_in_any_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What has no room is a part of a name; brackets of names are no markup."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show(RESULT, (), every=False)
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert lines[0].startswith("net[a].param  avx2, 1 thread, 100 runs")
    assert "200.0 MFLOP of them are products of matrix tiles" in " ".join(" ".join(lines).split())
    head, *rows = lines[-3:]
    assert head.split()[-8:] == ["ms", "time", "GFLOP/s", "MB", "GB/s", "bound", "of", "bound"]
    assert ("kernels" in head) == (width == 200)
    for row in rows:
        assert row.split()[-7:] == ["12.345", "50.0%", "81.0", "0.00", "0.0", "latency", "5%"]
        assert len(row) <= width
    if width > 60:
        assert rows[0].split()[0] in ("stage1/block[/1]/conv", "stage1/block[/1]/co…")


def test_a_file_that_is_no_onnx_model_is_told_first(tmp_path: Path) -> None:
    """Not by a peer, when everything has been measured."""
    (tmp_path / "net.param").write_text("7767517\n1 1\nInput x 0 1 x\n")
    with pytest.raises(InputError, match="net.param is a .param; here an ONNX model is wanted: "):
        require_onnx(str(tmp_path / "net.param"))
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08\x12\x07pytorch")
    require_onnx(str(tmp_path / "net.onnx"))
    with pytest.raises(FileNotFoundError):
        require_onnx(str(tmp_path / "none.onnx"))


@pytest.mark.slow
def test_a_trace_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the tables; not over the network."""
    (tmp_path / "net.param").write_text("7767517\n2 2\nInput x 0 1 x 0=64\nReLU r 1 1 x r\n")
    words = ["bench", str(tmp_path / "net.param"), "--random-weights", "0", "--rounds", "1"]
    trace = tmp_path / "trace.json"
    assert run([*words, "--trace", str(trace)]) == 0
    names = [event["name"] for event in json.loads(trace.read_text())["traceEvents"]]
    assert "r" in names and "thread_name" in names
    assert run([*words, "--trace", words[1]]) == 2
    assert "is not written over" in capsys.readouterr().err
