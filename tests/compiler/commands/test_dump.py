"""`ncc compile --dump`: a file for every pass that changed something."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.parser import Parser

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.options import Options
from ncc.compiler.passes import linalg_passes
from ncc.compiler.universe import UNIVERSE

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"


@pytest.mark.parametrize("opt_level", [0, 2])
def test_every_pass_is_told_and_every_change_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], opt_level: int
) -> None:
    """Numbers are those of passes, whether they change anything or not; no two files are alike."""
    folder = tmp_path / "deep" / "ir"
    assert cli.run(["compile", str(DIGITS), f"-O{opt_level}", "--dump", str(folder)]) == 0
    told = capfd.readouterr().out.splitlines()
    names = [line.split()[0].partition(".")[0] for line in told]
    assert [name[:3] for name in names] == [f"{number:02}-" for number in range(len(names))]
    passes = [one.name for one in linalg_passes(Options.of(opt_level=opt_level))]
    layers = ["read", "infer-shapes", *["canonicalize", "optimize"][: 2 * (opt_level > 0)]]
    assert [name[3:] for name in names] == [*layers, *passes, "kernels", "loops", "llvm", "asm"]
    written = [line.split()[0] for line in told if not line.endswith("changed nothing")]
    assert sorted(written) == sorted(path.name for path in folder.iterdir())
    texts = [(folder / name).read_text() for name in written]
    assert len(set(texts)) == len(texts)
    assert any("changed nothing" in line for line in told) == (opt_level > 0)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    """By xDSL, whose tools run any pass on it."""
    assert cli.run(["compile", str(DIGITS), "--dump", str(tmp_path)]) == 0
    context = Context()
    for name, dialect in {**get_all_dialects(), **UNIVERSE.all_dialects}.items():
        context.register_dialect(name, dialect)
    files = sorted(tmp_path.glob("*.mlir"))
    assert len(files) > 5
    for path in files:
        module = Parser(context, path.read_text()).parse_module()
        module.verify()
        assert str(module).rstrip() == path.read_text().rstrip()


def test_nothing_else_is_written(tmp_path: Path) -> None:
    """Neither a compiled file, nor a level."""
    for more in (["-o", str(tmp_path / "net.ncc")], ["--emit=linalg"]):
        code = cli.run(["compile", str(DIGITS), "--dump", str(tmp_path / "ir"), *more])
        assert code == exit_codes.USAGE
    assert not list(tmp_path.iterdir())
