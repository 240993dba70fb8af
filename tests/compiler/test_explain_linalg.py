"""What passes over linalg decide about a network, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.explain_linalg import Decided, decided, explained_passes
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.rewrite.decisions import ExplainedPass
from ncc.compiler.options import Options
from ncc.compiler.passes import every_linalg_pass
from ncc.compiler.pipeline import Compilation
from ncc.compiler.target import AMX, AVX512
from ncc.dialects.shapes import AskedShape

LINES = """
Input data 0 1 data 0=56 1=56 2=3
Convolution first 1 1 data first 0=64 1=3 4=1 5=1 6=1728 9=1
Convolution tiled 1 1 first tiled 0=64 1=3 4=1 5=1 6=36864 9=1
Convolution point 1 1 tiled point 0=64 1=1 5=1 6=4096
"""


@pytest.fixture
def param(tmp_path: Path) -> Path:
    lines = LINES.strip().splitlines()
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 4", *lines, ""]))
    return path


def explained(param: Path, options: Options) -> Decided:
    return decided(param, None, options)


def test_why_winograd_or_not(param: Path) -> None:
    """Each convolution once: the ones in tiles first, with the cycles that were compared."""
    fate = explained(param, Options(target=AVX512, random_weights=0)).of_pass("choose-convolution")
    tiled, first, point = fate.lines()
    assert tiled.startswith("fired at layer 'tiled': by Winograd F(4) of 3x3; estimated cycles: ")
    assert ": direct " in tiled and ", Winograd F(2) of 3x3 " in tiled
    assert first == "not at layer 'first': it has fewer than 16 channels"
    assert point.startswith("not at layer 'point': Winograd has no tiles for a window of 1 x 1")


def test_matrix_tiles_compete(param: Path) -> None:
    """Where bf16x3 may be, the direct convolution by it is told, too, and wins here."""
    options = Options(opt_level=3, target=AMX, random_weights=0)
    _, tiled, _ = explained(param, options).of_pass("choose-convolution").lines()
    assert tiled.startswith("not at layer 'tiled': Winograd is not worth it; estimated cycles: ")
    assert "direct by bf16x3 on matrix tiles " in tiled


def test_the_decisions_about_a_layer(param: Path) -> None:
    """In the order of passes, below what the network is compiled for."""
    found = explained(param, Options(target=AVX512, num_threads=2, random_weights=0))
    head, *lines = found.lines_of("first")
    assert head == "compiled for avx512 at -O2 on 2 threads, the operations of layer 'first':"
    assert "  choose-convolution: not, it has fewer than 16 channels" in lines
    order = list(dict.fromkeys(line.split(":")[0].strip() for line in lines))
    assert order == [name for name in found.names if name in order]
    [none] = found.lines_of("data")
    assert none.endswith("no pass over linalg looks at layer 'data'")


def test_a_pass_that_does_not_run(param: Path) -> None:
    """At a level without it, that is what is told."""
    fate = explained(param, Options(1, target=AVX512, random_weights=0)).of_pass("split-bf16")
    assert list(fate.lines()) == [
        "split-bf16: no pass of a compilation at this level for this target"
    ]


def test_an_open_shape_is_an_error(tmp_path: Path) -> None:
    """The error is that of a compilation."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nReLU relu 1 1 data out\n")
    with pytest.raises(ModelError, match="--shape data=3x224x224"):
        explained(path, Options(target=AVX512, random_weights=0))


OPEN = """
Input data 0 1 data
Softmax along 1 1 data along 0=-1 1=1
Input rows 0 1 rows
MatMul scores 2 1 rows rows scores 0=1
Softmax shares 1 1 scores shares 0=-1 1=1
MatMul read 2 1 shares rows read
"""


def test_reasons_about_open_extents_tell_numbers(tmp_path: Path) -> None:
    """They are those of the hints; an expression says nothing to people."""
    path = tmp_path / "net.param"
    lines = OPEN.strip().splitlines()
    path.write_text("\n".join(["7767517", f"{len(lines)} 6", *lines, ""]))
    shapes: dict[str, AskedShape] = {"data": (8, (1, 32)), "rows": (4, None, 16)}
    options = Options.of(target="avx512", random_weights=0, input_shapes=shapes)
    found = [one for one in explained(path, options).decisions if not one.fired]
    passes = {one.pass_name for one in found}
    assert {"fuse-softmax", "tile-attention"} <= passes, passes
    assert not [one for one in found if "[" in one.reason]


def test_every_explained_pass_says_what_it_is() -> None:
    """Choosing a convolution among them."""
    told = explained_passes()
    assert ChooseConvolution.name in told
    assert all(text.rstrip().endswith(".") for text in told.values()), told


SILENT = {
    "convert-ncnn-to-linalg": "it lowers each layer",
    "tile-and-fuse": "it does what another pass has decided",
}
"""Passes that tell no decisions, and why."""


def test_every_other_pass_tells_its_decisions() -> None:
    """A pass that looks at operations one by one is a pattern, with reasons."""
    silent = {one.name for one in every_linalg_pass() if not isinstance(one, ExplainedPass)}
    assert silent == SILENT.keys()


def test_a_compilation_collects_no_decisions(param: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No text is made where nobody asks."""

    def refuse(self: ChooseConvolution, found: object) -> str:
        raise AssertionError("a compilation describes its decisions")

    monkeypatch.setattr(ChooseConvolution, "describe", refuse)
    compilation = Compilation(param, None, Options(target=AVX512, random_weights=0))
    compilation.structured(compilation.network())
