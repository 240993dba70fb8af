"""`ncc explain`: what it prints of layers, and of passes over linalg."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes

TEXT = """7767517
3 3
Input data 0 1 data 0=28 1=28 2=64
Convolution conv 1 1 data conv 0=64 1=3 4=1 5=1 6=36864
ReLU relu 1 1 conv out
"""


@pytest.fixture
def ncc(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str], str]]:
    """ncc("--blob", "conv"): `ncc explain` of a small network; exit code, lines, errors."""
    path = tmp_path / "net.param"
    path.write_text(TEXT)

    def run(*arguments: object, network: str = TEXT) -> tuple[int, list[str], str]:
        path.write_text(network)
        code = cli.run(["explain", str(path), "null", *map(str, arguments)])
        out, err = capfd.readouterr()
        return code, out.splitlines(), err

    return run


Run = Callable[..., tuple[int, list[str], str]]


def test_why_a_convolution_is_in_tiles(ncc: Run) -> None:
    """Behind the way of its blob: the form that is taken, and all cycles that were compared."""
    code, lines, _ = ncc("--blob", "conv", "--target", "avx512")
    assert code == exit_codes.OK
    assert "layer 'conv' makes 'out'" in lines[2]
    assert lines[3] == "compiled for avx512 at -O2 on 1 thread, the operations of layer 'conv':"
    [choice] = [line for line in lines[4:] if line.startswith("  choose-convolution: ")]
    assert choice.startswith("  choose-convolution: fired, by Winograd F(4) of 3x3; ")
    assert "estimated cycles: direct " in choice


def test_a_pass_over_linalg(ncc: Run) -> None:
    """It may be asked for beside one over layers; for programs as one object."""
    code, lines, _ = ncc("--pass", "fuse_convolution_activation", "--pass", "choose-convolution")
    assert code == exit_codes.OK
    assert lines[0].startswith("fired: fuse_convolution_activation conv relu")
    assert lines[1].startswith("fired at layer 'conv': by Winograd")
    _, lines, _ = ncc("--pass", "choose-convolution", "--blob", "conv", "--json")
    told = json.loads("\n".join(lines))
    [fate] = told["passes"]
    assert fate["name"] == "choose-convolution" and fate["decisions"][0]["fired"]
    assert fate["decisions"][0] in told["decisions"]


def test_a_pass_over_linalg_of_open_shapes(ncc: Run) -> None:
    """Costs are compared for a hint, and nobody warns of shapes that are not known."""
    pass_ = ("--pass", "choose-convolution")
    code, lines, errors = ncc(*pass_, "--shape", "data=64x?x?")
    assert code == exit_codes.OK and errors == ""
    assert lines[0].startswith("fired at layer 'conv': by Winograd")


def test_a_network_that_cannot_be_compiled(ncc: Run) -> None:
    """The way of a blob is told without decisions; a pass over linalg needs all shapes."""
    network = TEXT.replace(" 0=28 1=28 2=64", "")
    code, lines, errors = ncc("--blob", "conv", network=network)
    assert code == exit_codes.OK and len(lines) == 3
    assert "what a compilation decides is not known" in errors and "--shape data=" in errors
    code, lines, errors = ncc("--pass", "choose-convolution", network=network)
    assert code == exit_codes.WRONG and not lines and "--shape data=" in errors


def test_no_such_pass(ncc: Run) -> None:
    """The nearest one is proposed, and where all are shown."""
    code, _, errors = ncc("--pass", "choose-convolutions")
    assert code == exit_codes.USAGE
    assert "`ncc explain --list-passes` shows all" in errors
    assert "did you mean 'choose-convolution'" in errors
    code, lines, _ = ncc("--list-passes")
    names = [line.split()[0] for line in lines]
    assert code == exit_codes.OK
    assert {"choose-convolution", "eliminate_dropout"} <= set(names)


def test_which_sizes_one_compilation_is_for(ncc: Run) -> None:
    """In lines or as one object; it is no question beside others."""
    code, lines, _ = ncc("--sizes", "--shape", "data=64x?x28")
    assert code == exit_codes.OK and lines[0] == "inputs: data 64x?x28"
    code, lines, _ = ncc("--sizes", "--shape", "data=64x8..28x28")
    assert code == exit_codes.OK and lines[0] == "inputs: data 64x8..28x28"
    code, lines, _ = ncc("--sizes", "--json")
    assert json.loads("\n".join(lines))["inputs"] == {"data": "64x?x?"}
    code, _, err = ncc("--sizes", "--blob", "conv")
    assert code == exit_codes.USAGE and "--sizes explains a compilation" in err
