"""Models for a processor that this machine is not, run by qemu.

`install.sh` puts Python and numpy for this processor into a folder. Where the folder or qemu is
absent, tests skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.runtime.artifact import Artifact

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]

FOLDER = Path(os.environ.get("NCC_AARCH64", "~/.cache/ncc-aarch64")).expanduser()
CHECKOUT = Path(__file__).parents[2]

CPUS = {"neon": "cortex-a53", "neondot": "cortex-a76", "neoni8mm": "max"}
"""A processor of qemu with the instructions of each target, and few more if it has such a one."""


def compiled(param: Path, bin: Path | None, target: str, **options: Any) -> Artifact:
    """A model for two threads, of files."""
    chosen = Options.of(target=target, num_threads=2, **options)
    return artifact_of(Compilation(param, bin, chosen))


@dataclass(frozen=True)
class Emulator:
    """Python under qemu, for the processors of a target."""

    target: str

    def run_models(self, folder: Path, threads: Sequence[int]) -> None:
        """Run the models of a folder; the test is skipped where that is not possible."""
        emulator, python = shutil.which("qemu-aarch64"), FOLDER / "root/usr/bin/python3"
        if emulator is None:
            pytest.skip("qemu-aarch64 is not installed")
        if not python.exists():
            pytest.skip("there is no Python for aarch64: tests/emulated/install.sh gets one")
        script = Path(__file__).with_name("run_models.py")
        # -S: what site.py does takes seconds under qemu.
        interpreter = [str(python.resolve()), "-S", str(script), str(CHECKOUT), str(folder)]
        done = subprocess.run(
            [emulator, "-cpu", CPUS[self.target], "-L", str(FOLDER / "root")]
            + [*interpreter, *map(str, threads)],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(FOLDER / "site"), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.returncode == 0, done.stderr

    def run(
        self, models: Sequence[tuple[Artifact, Arrays]], folder: Path
    ) -> list[tuple[Arrays, Arrays]]:
        """The results of models on their feeds: on one thread, and on two."""
        paths = [folder / f"{number}.ncc" for number in range(len(models))]
        for path, (artifact, feeds) in zip(paths, models, strict=True):
            artifact.save(path)
            np.savez(path.with_suffix(".feeds.npz"), **feeds)  # type: ignore[arg-type]
        self.run_models(folder, [1, 2])
        return [(_arrays(path, 1), _arrays(path, 2)) for path in paths]


def _arrays(path: Path, threads: int) -> Arrays:
    with np.load(path.with_suffix(f".{threads}.npz")) as held:
        return dict(held)


def same_bits(one: Arrays, other: Arrays) -> bool:
    """Whether two runs have the same results, bit by bit."""
    return one.keys() == other.keys() and all(
        one[name].tobytes() == other[name].tobytes() for name in one
    )
