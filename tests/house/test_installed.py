"""What installs from a checkout, into environments of their own, is whole.

The distribution alone runs compiled models and needs numpy; with its extra it compiles.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUN = """
import sys
import numpy as np
import ncc
model = ncc.load("digits.ncc")
print(model(np.ones((1, 8, 8), np.float32)).argmax())
assert not {"xdsl", "llvmlite"} & set(sys.modules)
try:
    ncc.compile("digits.param")
except ncc.NccError as error:
    print(error)
"""

HOW = "which is not installed: pip install 'ncnn-compiler[compiler]'"


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and a folder to be in, where no checkout is found."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "environment" / "bin"

    def run(self, *command: str, exit_code: int = 0) -> str:
        """What a command of this environment writes, of errors, too."""
        done = subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == exit_code, done.stdout
        return done.stdout

    def installed(self) -> set[str]:
        """The names of all distributions but those that install others."""
        rows = json.loads(self.run("pip", "list", "--format=json", "--disable-pip-version-check"))
        return {row["name"] for row in rows} - {"pip", "setuptools"}


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made as docs/use.md makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(root)]
    subprocess.run(command, cwd=folder, check=True)
    (made,) = folder.glob("ncnn_compiler-*.whl")
    return made


@pytest.fixture
def environment(root: Path, tmp_path: Path) -> Environment:
    """A new one, beside a network."""
    for file in ("digits.param", "digits.bin"):
        (tmp_path / file).write_bytes((root / "examples" / "digits" / file).read_bytes())
    venv.create(tmp_path / "environment", with_pip=True)
    return Environment(tmp_path)


def test_alone_it_runs_compiled_models(environment: Environment, wheel: Path) -> None:
    """With numpy and nothing else; what needs the compiler says how to have it."""
    environment.run("pip", "install", "--quiet", str(wheel))
    environment.run("pip", "check")
    assert environment.installed() == {"ncnn-compiler", "numpy"}
    compiled = environment.folder / "digits.ncc"
    param = str(environment.folder / "digits.param")
    subprocess.run([sys.executable, "-m", "ncc", "compile", param, "-o", compiled], check=True)
    digit, error = environment.run("python", "-c", RUN).splitlines()
    assert 0 <= int(digit) <= 9
    assert error.startswith("ncc.compile needs ") and HOW in error
    for words in (["--help"], ["compile", "digits.param"], ["run", "digits.ncc"]):
        (line,) = environment.run("ncc", *words, exit_code=1).splitlines()
        assert line.startswith("ncc: the command needs ") and HOW in line


def test_with_its_extra_it_compiles(environment: Environment, wheel: Path) -> None:
    """By the line that its error says, once the distribution is there."""
    environment.run("pip", "install", "--quiet", str(wheel))
    environment.run("pip", "install", "--quiet", "ncnn-compiler[compiler]")
    environment.run("pip", "check")
    assert {"xdsl", "llvmlite"} <= environment.installed()
    environment.run("ncc", "compile", "digits.param", "-o", "digits.ncc")
    digit = environment.run("python", "-c", RUN)
    assert 0 <= int(digit) <= 9
