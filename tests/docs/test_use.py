"""What docs/use.md tells to write in Python, C and C++ can be written."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ncc
from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from tests.c_programs import CXX, done, needs_cc, run
from tests.onnx.models import model, written

ROOT = Path(__file__).parents[2]
UPSCALE = ROOT / "examples" / "upscale"
PAGE = (ROOT / "docs" / "use.md").read_text()

# As pnnx leaves it: the shape is not told.
NETWORK = """7767517
4 4
Input in0 0 1 in0
Convolution conv 1 1 in0 1 0=8 1=3 3=8 5=1 6=216
Pooling pool 1 1 1 2 0=1 4=1
InnerProduct fc 1 1 2 out0 0=10 1=1 2=80
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with net.onnx, net.ncnn.param, weights of ones, photos, and a network for them."""
    node = onnx.helper.make_node("Relu", ["in0"], ["out0"])
    written(tmp_path, model([node], {"in0": (1, 3, 8, 8)}, ["out0"]))
    (tmp_path / "net.ncnn.param").write_text(NETWORK)
    # 216 + 8 and 80 + 10 numbers, the filters behind a tag each.
    sizes = 0, 216 + 8, 0, 80 + 10
    parts = (np.ones(size, "<f4").tobytes() if size else bytes(4) for size in sizes)
    (tmp_path / "net.ncnn.bin").write_bytes(b"".join(parts))
    for name in ("double.param", "double.bin"):
        shutil.copy(UPSCALE / name, tmp_path)
    image = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    for folder in ("photos", "larger"):
        (tmp_path / folder).mkdir()
    for place in ("photo.png", "photos/one.png"):
        ncc.image.save(image, tmp_path / place)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_runs(folder: Path) -> None:
    """Its Python, in order; the shell's part is what `ncc compile` of the page does. The test of
    examples/pytorch runs the export of a module.
    """
    for command in re.findall(r"^ncc ((?:compile|run) .*?)\s*(?:#.*)?$", PAGE, re.MULTILINE):
        assert cli.run(shlex.split(command)) == exit_codes.OK
        if "--emit=lib" in command and command.endswith("-o net"):
            # The program of the page takes this name, and two threads.
            assert "NET_MOST_THREADS 1\n" not in Path("net/net.h").read_text()
            shutil.rmtree("net")
    image = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
    names: dict[str, Any] = {"image": image, "images": [image] * 3}
    page = re.sub(r"^## From PyTorch\n.*?(?=^## )", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8
    for block in blocks:
        exec(block, names)
    assert names["top"].shape == (5,)
    camera, x = names["camera"](names["small"]), names["model"](names["x"])
    np.testing.assert_allclose(camera, x, rtol=1e-3, atol=1e-2)
    assert ncc.image.open("larger/one.png").shape == (48, 64, 3)
    assert names["double"](image).shape == (448, 448, 3)
    assert len(names["results"]) == 3 and names["results"][0].shape == (10,)
    assert names["model"].num_threads <= 2


def block(language: str) -> str:
    """The first block of a language on the page."""
    found, *_ = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_its_lines_of_an_example_are_those_of_the_example() -> None:
    """The second block in C."""
    _, lines = re.findall(r"^```c\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert lines in (ROOT / "examples" / "c" / "find_edges.c").read_text()


@needs_cc
def test_its_programs_in_c_run(folder: Path) -> None:
    """A library of the .ncc, compiled and linked by the page's own line."""
    (compiling,) = re.findall(r"^ncc (compile .*-o net\.ncc)\s*#", PAGE, re.MULTILINE)
    making, *_ = re.findall(r"^ncc (compile .*--emit=lib.*)$", PAGE, re.MULTILINE)
    (linking,) = re.findall(r"^cc .*$", PAGE, re.MULTILINE)
    assert cli.run(compiling.split()) == exit_codes.OK
    assert cli.run(making.split()) == exit_codes.OK
    Path("main.c").write_text(block("c"))
    done(["sh", "-e", "-c", linking])
    zeros = np.zeros((3, 224, 224), np.float32)
    assert float(done(["./main"])) == pytest.approx(ncc.load("net.ncc")(zeros)[0], abs=1e-5)
    if CXX is not None:
        Path("main.cc").write_text(block("cpp"))
        done([CXX, "main.cc", "-Inet", "net/libnet.a", "-pthread", "-o", "main"])
        assert run(["./main"]).returncode == 0


def test_the_shape_must_be_told(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As the page says of files that pnnx writes."""
    assert cli.run(["compile", "net.ncnn.param"]) == exit_codes.WRONG
    assert "--shape in0=" in capfd.readouterr().err
