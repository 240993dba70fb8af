"""xDSL's own tools find the dialects and passes of ncc."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from ncc.compiler.options import Options
from ncc.compiler.passes import linalg_passes
from ncc.compiler.universe import UNIVERSE

TEXT = """
func.func @network() -> tensor<*xf32> attributes {outputs = ["y"]} {
  %x = ncnn.Input() {layer = "in", blobs = ["x"]} : () -> tensor<*xf32>
  %d = ncnn.Dropout(%x) {layer = "drop", blobs = ["d"]} : (tensor<*xf32>) -> tensor<*xf32>
  %y = ncnn.ReLU(%d) {layer = "relu", blobs = ["y"]} : (tensor<*xf32>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
"""


@pytest.mark.parametrize("name", UNIVERSE.all_dialects)
def test_dialects_are_what_they_are_called(name: str) -> None:
    """Each factory gives the dialect of its name."""
    dialect = UNIVERSE.all_dialects[name]()
    assert isinstance(dialect, Dialect) and dialect.name == name


@pytest.mark.parametrize("name", UNIVERSE.all_passes)
def test_passes_are_what_they_are_called(name: str) -> None:
    """Each factory gives the pass of its name, which can be asked for in a pipeline."""
    made = UNIVERSE.all_passes[name]()
    assert issubclass(made, ModulePass) and made.name == name
    assert str(made().pipeline_pass_spec()) == name


@pytest.mark.parametrize("target", ["avx512", "amx"])
@pytest.mark.parametrize("level", [0, 3])
def test_every_pass_of_the_structured_level_is_there(level: int, target: str) -> None:
    """Whatever a compilation does can be done by xDSL's tools, one pass at a time."""
    passes = linalg_passes(Options.of(opt_level=level, target=target))
    assert {one.name for one in passes} <= UNIVERSE.all_passes.keys()


def test_the_installed_package_announces_it() -> None:
    """The entry point leads here."""
    found = Universe.get_multiverse()
    assert set(UNIVERSE.all_passes) <= set(found.all_passes)
    assert set(UNIVERSE.all_dialects) <= set(found.all_dialects)


def test_plain_xdsl_opt_runs_the_passes(tmp_path: Path) -> None:
    """A network in text goes from layers to the linalg level by xdsl-opt alone."""
    path = tmp_path / "net.mlir"
    path.write_text(TEXT)
    passes = 'infer-shapes{inputs="x=2x3"},canonicalize-ncnn,convert-ncnn-to-linalg'
    command = [str(Path(sys.executable).parent / "xdsl-opt"), str(path), "-p", passes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "linalg.generic" in done.stdout and 'doc = "relu"' in done.stdout
    assert "ncnn." not in done.stdout
