"""Every example runs, from any folder, and prints what it promises."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import ncc
from ncc.compiler.measure import roofline as roofline
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.network import Network

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(script: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(script), *arguments], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def accuracy(printed: str) -> float:
    found = re.search(r"([\d.]+)%", printed)
    assert found is not None, printed
    return float(found[1])


def test_the_compiled_digits_network_reads_handwriting(tmp_path: Path) -> None:
    """At least 95 of 100 digits that training has not seen."""
    assert accuracy(output_of(EXAMPLES / "digits" / "run.py", cwd=tmp_path)) >= 95


def test_compile_and_run_reads_a_digit_and_survives_saving(tmp_path: Path) -> None:
    """The digit it reads is the digit that was written, before and after saving."""
    printed = output_of(EXAMPLES / "compile_and_run.py", cwd=tmp_path)
    found = re.search(r"a handwritten (\d), read as (\d)", printed)
    assert found is not None and found[1] == found[2]
    assert "the same numbers: True" in printed


def test_look_between_passes_shows_rewrites_and_kernels(tmp_path: Path) -> None:
    """Dropout and Flatten go, and what is left is operations."""
    printed = output_of(EXAMPLES / "look_between_passes.py", cwd=tmp_path)
    assert "eliminate_dropout drop" in printed
    assert "eliminate_flatten_after_global_pooling pool2 flat" in printed
    assert "-    %drop = ncnn.Dropout" in printed
    assert "addf= x[d3,d1+d4,d2+d5] , w[d0,d3,d4,d5]" in printed


@pytest.mark.slow
def test_a_decoder_generates(tmp_path: Path) -> None:
    """Twelve tokens behind a prompt of five; the last one has not been read."""
    printed = output_of(EXAMPLES / "decoder" / "generate.py", cwd=tmp_path)
    found = re.search(r"generated: (.*)", printed)
    assert found is not None and len(found[1].split()) == 12
    assert "rows in the caches: 16" in printed


def test_the_digits_files_are_small() -> None:
    """The committed network and its data together stay under 1 MB."""
    assert sum(file.stat().st_size for file in (EXAMPLES / "digits").iterdir()) < 1_000_000


@pytest.mark.slow
def test_kernels_are_measured_and_held_to_an_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One family, one round: its shares in JSON, and a failure where it once took no time."""
    monkeypatch.setattr(roofline, "READ_BYTES", 64 << 10)
    monkeypatch.syspath_prepend(EXAMPLES)
    kernels: Any = importlib.import_module("kernels")
    before = tmp_path / "before.json"
    arguments = ["kernels.py", "GELU", "--rounds", "1", "--threads", "2"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--json"])
    assert kernels.main() == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["name"].startswith("GELU") and found["bound"] in ("compute", "memory")
    assert 0 < found["of_peak"] <= found["of_bound"] * (1 + 1e-9)  # but for rounding
    assert found["of_bandwidth"] > 0
    monkeypatch.setattr(sys, "argv", [*arguments, "--against", str(before)])
    for turns, code in ((1e-9, 1), (1e18, 0)):
        before.write_text(json.dumps([found | {"turns": turns}]))
        assert kernels.main() == code
        printed = capsys.readouterr()
        assert ("slower than before: GELU" in printed.err) == bool(code)
        assert "against before" in printed.out


def test_all_kernels_that_are_measured_are_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their shapes fit; their names differ, since results are compared by name."""
    monkeypatch.syspath_prepend(EXAMPLES)
    kernels: Any = importlib.import_module("kernels")
    cases = kernels.cases()
    assert len({case.name for case in cases}) == len(cases) > 30
    for case in cases:
        path = tmp_path / "kernel.param"
        path.write_text(case.text())
        module = read(path, random_weights=1).module
        infer_shapes(module)
        assert list(Network.of(module).outputs) == ["out"]


@pytest.mark.slow
def test_every_kernel_that_is_measured_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No pass has put the layer into another one, of which nothing would be measured."""
    monkeypatch.syspath_prepend(EXAMPLES)
    kernels: Any = importlib.import_module("kernels")
    path = tmp_path / "kernel.param"
    for case in kernels.cases():
        path.write_text(case.text())
        steps = ncc.compile(path, random_weights=1).artifact.info["steps"]
        assert any(kernels.KERNEL in layers for _, layers in steps), case.name


@pytest.mark.slow
def test_peers_stand_beside_ncc_in_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Weights lie elsewhere; ncnn has a time, others may not be installed."""
    pytest.importorskip("ncnn")
    monkeypatch.syspath_prepend(EXAMPLES)
    peers: Any = importlib.import_module("peers")
    param = tmp_path / "digits.param"
    param.write_text((EXAMPLES / "digits" / "digits.param").read_text())
    arguments = ["peers.py", "--files", str(EXAMPLES / "digits"), "--rounds", "1", str(param)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert peers.main() == 0
    head, row, mean = capsys.readouterr().out.splitlines()
    assert head.split() == ["least", "ms", "ncc", "ncnn", "onnxruntime", "openvino", "best/ncc"]
    assert row.split()[0] == "digits" and float(row.split()[-2]) > 0
    assert mean.startswith("geometric mean of best peer / ncc: ")


def test_a_network_that_cannot_be_compiled_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its error is told, and so is that there was one."""
    monkeypatch.syspath_prepend(EXAMPLES)
    peers: Any = importlib.import_module("peers")
    (tmp_path / "text.param").write_text("hello")
    monkeypatch.setattr(sys, "argv", ["peers.py", str(tmp_path / "text.param"), "none.param"])
    assert peers.main() == 1
    said = capsys.readouterr().err
    assert "text: " in said and "none: none.param: error: the file cannot be read" in said


def test_peers_are_told_an_open_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option is the one that the error asks for where it is missing."""
    monkeypatch.syspath_prepend(EXAMPLES)
    peers: Any = importlib.import_module("peers")
    seen: list[tuple[dict[str, Any], dict[str, tuple[int, ...]]]] = []

    def compare(*network: Any, input_shapes: dict[str, tuple[int, ...]], **how: Any) -> list[Any]:
        seen.append((network[2], input_shapes))
        return []

    monkeypatch.setattr(peers, "compare_network", compare)
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nReLU relu 1 1 data out\n")
    path.with_suffix(".bin").touch()
    for option, code in ([], 1), (["--shape", "data=3x4x5"], 0):
        monkeypatch.setattr(sys, "argv", ["peers.py", str(path), *option])
        assert peers.main() == code
    assert "--shape data=3x224x224" in capsys.readouterr().err
    ((feeds, shapes),) = seen
    assert feeds["data"].shape == (3, 4, 5) and shapes == {"data": (3, 4, 5)}
    monkeypatch.setattr(sys, "argv", ["peers.py", str(path), "--shape", "data=threexfour"])
    with pytest.raises(SystemExit):
        peers.main()
    assert "'data=threexfour' is no shape of an input" in capsys.readouterr().err


def test_peers_run_what_the_onnx_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outputs, and its shapes where they are numbers, without the batch."""

    class Blob(NamedTuple):
        name: str
        shape: list[int | str]

    class Session:
        def __init__(self, path: str, providers: list[str]) -> None:
            assert (path, providers) == ("net.onnx", ["CPUExecutionProvider"])

        def get_inputs(self) -> list[Blob]:
            return [Blob("image", [1, 3, 8, 8]), Blob("words", [1, "n", 4])]

        def get_outputs(self) -> list[Blob]:
            return [Blob("boxes", [1, 2])]

    library = ModuleType("onnxruntime")
    library.InferenceSession = Session  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onnxruntime", library)
    monkeypatch.syspath_prepend(EXAMPLES)
    peers: Any = importlib.import_module("peers")
    assert peers.signature(Path("net.onnx")) == ({"image": (3, 8, 8)}, ["boxes"])


def test_the_best_peer_is_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ratio without a peer, or without ncc."""
    monkeypatch.syspath_prepend(EXAMPLES)
    peers: Any = importlib.import_module("peers")
    assert peers.ratio({"ncc": 2.0, "ncnn": 5.0, "openvino": 3.0}) == 1.5
    assert peers.ratio({"ncc": 2.0}) is None and peers.ratio({"ncnn": 2.0}) is None


SNAKE = EXAMPLES / "snake"

COMPILE = """
import sys
import numpy as np
import ncc
x = np.linspace(-2, 2, 60, dtype=np.float32).reshape(3, 4, 5)
print("ncc_snake" in sys.modules, ncc.compile(sys.argv[1])(x).shape, "ncc_snake" in sys.modules)
"""


@pytest.mark.slow
def test_a_layer_from_outside_passes_its_own_tests() -> None:
    """The package stands for itself, installed or not."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SNAKE)]
    done = subprocess.run(command, cwd=SNAKE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_layer_from_outside_is_found_by_its_entry_point(tmp_path: Path) -> None:
    """What an installer leaves: the module, and a folder that names it. Nobody imports it."""
    project = tomllib.loads((SNAKE / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"]["ncc.layers"]
    info = tmp_path / f"ncc_snake-{project['version']}.dist-info"
    info.mkdir()
    said = {"Metadata-Version": "2.1", "Name": project["name"], "Version": project["version"]}
    (info / "METADATA").write_text("".join(f"{key}: {value}\n" for key, value in said.items()))
    lines = ["[ncc.layers]", *(f"{name} = {module}" for name, module in entries.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    shutil.copy(SNAKE / "ncc_snake.py", tmp_path)
    network = tmp_path / "net.param"
    network.write_text("7767517\n2 2\nInput x 0 1 x 0=5 1=4 2=3\nSnake s 1 1 x y 0=3\n")
    network.with_suffix(".bin").write_bytes(np.ones(3, "<f4").tobytes())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, str(network)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[0] == "False (3, 4, 5) True", done.stderr


@pytest.mark.slow
def test_training_writes_the_committed_network(tmp_path: Path) -> None:
    """The script writes the same .param and the same held-out data, and learns as well.

    Not the same weights to the last bit: another BLAS may sum in another order.
    """
    pytest.importorskip("sklearn", reason="scikit-learn holds the data")
    printed = output_of(EXAMPLES / "digits" / "train.py", str(tmp_path), cwd=tmp_path)
    assert accuracy(printed) >= 95
    committed = EXAMPLES / "digits"
    assert (tmp_path / "digits.param").read_text() == (committed / "digits.param").read_text()
    with np.load(tmp_path / "held_out.npz") as new, np.load(committed / "held_out.npz") as old:
        assert all(np.array_equal(new[name], old[name]) for name in ("images", "labels"))
    assert (tmp_path / "digits.bin").stat().st_size == (committed / "digits.bin").stat().st_size


@pytest.mark.sweep
@pytest.mark.skipif(find_spec("onnxscript") is None, reason="torch and onnxscript are missing")
def test_a_module_of_torch_is_compiled(tmp_path: Path) -> None:
    """It computes what torch does."""
    printed = output_of(EXAMPLES / "pytorch" / "export_and_compile.py", cwd=tmp_path)
    assert "image: float32 (1, 3, 64, 64)" in printed
    assert float(printed.split()[-1]) < 1e-6
