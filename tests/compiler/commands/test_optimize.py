"""`ncc optimize` and `ncc explain`: arguments, what is printed, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.optimizer import NetworkCost, OptimizeReport, optimize
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import verify
from ncc.compiler.verification.verify import Report, Row
from ncc.dialects.ncnn.network import Network

LINES = """
Input data 0 1 data 0=8 1=8 2=3
Convolution conv 1 1 data conv 0=4 1=3 6=108
ReLU relu 1 1 conv relu
Dropout drop 1 1 relu drop
Pooling pool 1 1 drop pool 0=1 4=1
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: list[str]
    err: str


Run: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def ncc(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """ncc("optimize", ...): one command line, in this process, in a folder with net.param."""
    lines = LINES.strip().splitlines()
    (tmp_path / "net.param").write_text("\n".join(["7767517", f"{len(lines)} 30", *lines, ""]))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Outcome:
        code = cli.run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Outcome(code, out.splitlines(), err)

    return run


FILES = ("net.param", "null", "out.param", "out.bin")


def test_a_line_a_rewrite_and_a_summary(ncc: Run) -> None:
    """Pass and layers, as ncnnoptimize prints them."""
    done = ncc("optimize", *FILES, 0)
    assert done.code == exit_codes.OK and done.err == ""
    assert sorted(done.out[:-5]) == [
        "eliminate_dropout drop",
        "fuse_convolution_activation conv relu",
    ]
    assert [line.split() for line in done.out[-5:]] == [
        ["layers", "5", "->", "3"],
        ["weights", "0.42", "KB", "->", "0.42", "KB"],
        ["blobs", "1.31", "KB", "->", "1.31", "KB"],
        ["multiply-adds", "3.89", "k", "->", "3.89", "k"],
        ["the", ".bin", "0.43", "KB"],
    ]
    assert len(Network.of(read("out.param").module).layers) == 3


def test_the_report_for_programs(ncc: Run) -> None:
    """One object: what the report of `ncc.optimize` holds, whose text is what is printed."""
    done = ncc("optimize", *FILES, 0, "--json")
    told = json.loads("\n".join(done.out))
    assert {rewrite["pattern"] for rewrite in told["rewrites"]} == {
        "eliminate_dropout",
        "fuse_convolution_activation",
    }
    assert (told["before"]["layers"], told["after"]["layers"]) == (5, 3)
    assert str(optimize(*FILES)).splitlines() == ncc("optimize", *FILES, 0).out


@pytest.mark.parametrize(
    "before, after, shown",
    [
        (1 << 20, 5 << 10, "1.00 MB -> 0.00 MB"),
        ((1 << 20) - 1024, 512, "1023.00 KB -> 0.50 KB"),
        (0, 0, "0.00 KB -> 0.00 KB"),
    ],
)
def test_sizes_are_in_the_unit_that_fits_the_larger(before: int, after: int, shown: str) -> None:
    """Two numbers of one line are compared, and those of a small network are not all 0.00 MB."""
    costs = NetworkCost(1, before, None, None), NetworkCost(1, after, None, None)
    lines = str(OptimizeReport((), (), (), *costs, None)).splitlines()
    assert lines[1:3] == [f"weights        {shown}", "blobs          unknown -> unknown"]


@pytest.mark.parametrize("flag, size", [(0, 4 + 432), (2, 4 + 432), (1, 4 + 216), (65536, 4 + 216)])
def test_the_flag(ncc: Run, tmp_path: Path, flag: int, size: int) -> None:
    """1 and 65536 are halves, all else is fp32."""
    assert ncc("optimize", *FILES, flag).code == exit_codes.OK
    assert (tmp_path / "out.bin").stat().st_size == size


def test_a_cut(ncc: Run) -> None:
    """The names of the first and the last layer to keep."""
    assert ncc("optimize", *FILES, 0, "relu", "drop").code == exit_codes.OK
    network = Network.of(read("out.param").module)
    assert list(network.inputs) == ["conv"] and list(network.outputs) == ["drop"]


def test_options(ncc: Run, tmp_path: Path) -> None:
    """A pass off, a blob kept, rewrites tried, and nothing written in a dry run."""
    dry = ncc("optimize", *FILES, 0, "--dry-run", "--without", "eliminate_dropout")
    assert dry.code == exit_codes.OK and "eliminate_dropout drop" not in dry.out
    assert dry.out[-1] == "a dry run: nothing is written"
    assert not (tmp_path / "out.param").exists()
    kept = ncc("optimize", *FILES, 0, "--keep", "conv", "--verify-rewrites")
    assert kept.code == exit_codes.OK and kept.out[0] == "eliminate_dropout drop"


def test_the_passes_are_listed(ncc: Run) -> None:
    """Without any file."""
    listed = ncc("optimize", "--list-passes")
    assert listed.code == exit_codes.OK
    assert {"fuse_convolution_batchnorm", "eliminate_dropout"} <= {
        line.split()[0] for line in listed.out
    }
    assert any(line.endswith("Dropout(x, scale = 1) = x.") for line in listed.out)


def test_the_list_of_passes_fits_a_terminal(ncc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pass says stands beside its name, or below a long one."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "70")
    listed = ncc("optimize", "--list-passes").out
    assert max(map(len, listed)) < 70
    assert any(line.split() == ["eliminate_reshape_before_innerproduct"] for line in listed)
    assert any(line.endswith("Dropout(x, scale = 1) = x.") for line in listed)


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("nowhere.param", "null", "out.param", "out.bin", 0), exit_codes.WRONG, "nowhere.param"),
        (("net.param", "nowhere.bin", "out.param", "out.bin", 0), exit_codes.WRONG, "nowhere.bin"),
        ((*FILES, 0, "nobody"), exit_codes.WRONG, "no layer 'nobody'"),
        ((*FILES, 0, "--keep", "nobody"), exit_codes.WRONG, "no blob 'nobody'"),
        ((*FILES, 0, "--without", "nobody"), exit_codes.USAGE, "no pass 'nobody'"),
        (("net.param", "null", "out", "out", 0), exit_codes.WRONG, "two files"),
        (
            ("net.param", "null", "no/out.param", "out.bin", 0),
            exit_codes.WRONG,
            "cannot be written",
        ),
        (FILES, exit_codes.USAGE, "Missing argument"),
        ((*FILES, "fp16"), exit_codes.USAGE, "not a valid integer"),
    ],
)
def test_errors(
    ncc: Run, tmp_path: Path, arguments: tuple[object, ...], code: int, message: str
) -> None:
    """A message, an exit code, and no file."""
    done = ncc("optimize", *arguments)
    assert done.code == code and message in done.err and not done.out
    assert [path.name for path in tmp_path.iterdir()] == ["net.param"]


def test_malformed_files(ncc: Run, tmp_path: Path) -> None:
    """Every problem with its line; ncnnoptimize says that all is well."""
    (tmp_path / "net.param").write_text("7767517\n1 2\nReLU relu 1 1 nobody out\n")
    done = ncc("optimize", *FILES, 0)
    assert done.code == exit_codes.WRONG and "net.param:3" in done.err
    assert not (tmp_path / "out.param").exists()


def test_explain(ncc: Run) -> None:
    """Every layer, a blob, a pass."""
    assert (
        "line 5: ReLU relu: in conv, by fuse_convolution_activation"
        in ncc("explain", "net.param", "null").out
    )
    blob = ncc("explain", "net.param", "null", "--blob", "relu")
    assert blob.out[0] == "blob 'relu' was made by layer 'relu' (ReLU) on line 5"
    why = ncc("explain", "net.param", "null", "--pass", "eliminate_pooling1x1")
    assert why.out == ["eliminate_pooling1x1: no layers of this network look like it"]
    wrong = ncc("explain", "net.param", "null", "--pass", "nobody")
    assert wrong.code == exit_codes.USAGE and "nobody" in wrong.err


def test_explanations_for_programs(ncc: Run) -> None:
    """One object: of all layers, or of what is asked for."""
    told = json.loads("\n".join(ncc("explain", "net.param", "null", "--json").out))
    assert not told["blobs"] and not told["passes"]
    [relu] = [layer for layer in told["layers"] if layer["name"] == "relu"]
    assert (relu["type"], relu["line"], relu["survivor"]) == ("ReLU", 5, "conv")
    assert [rewrite["pattern"] for rewrite in relu["rewrites"]] == ["fuse_convolution_activation"]
    asked = ("--blob", "drop", "--pass", "eliminate_dropout", "--pass", "fuse_binaryop_eltwise")
    told = json.loads("\n".join(ncc("explain", "net.param", "null", "--json", *asked).out))
    assert not told["layers"]
    [blob] = told["blobs"]
    assert (blob["blob"], blob["maker"]["name"], blob["now"]) == ("drop", "drop", "conv")
    fired, none = told["passes"]
    assert fired["fired"][0]["layers"] == ["drop"] and not none["fired"] + none["hindered"]


def test_verify_points_to_explain(ncc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a blob is wrong only in the network as it is used, a fusion is to blame."""
    right = Row("pool", "Pooling", "pool", (4,), 1e-7, 1e-7)
    wrong = Row("pool", "Pooling", "pool", (4,), 0.5, 0.5, fused=True)
    monkeypatch.setattr(verify, "verify", lambda *a, **o: Report((right, wrong), 1e-4, None))
    done = ncc("verify", "net.param")
    assert done.code == exit_codes.DIFFERS
    assert done.out[-1] == "ncc explain net.param --blob pool: what was fused on the way to it"
