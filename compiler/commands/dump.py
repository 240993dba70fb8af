"""`ncc compile --dump`: what every pass made of a network, a file each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ncc.compiler.commands.arguments import write

BEHIND = {"kernels": ".kernels", "loops": ".mlir", "llvm": ".ll", "asm": ".s"}
"""The levels behind the passes, and how their files end."""


class Dump:
    """Files in a folder, numbered in the order of the passes: one that changed nothing has a number
    and no file, so that the difference between two files is what the later pass did.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self._text = ""
        self._number = 0

    def look(self, name: str, module: object) -> None:
        """Note what a pass made of the module."""
        self.add(name, str(module).rstrip() + "\n", ".mlir")

    def add(self, name: str, text: str, suffix: str) -> None:
        """Write a text unless it is the one before."""
        stem = f"{self._number:02}-{name.replace(' ', '-')}"
        self._number += 1
        if text == self._text:
            self.told.append(f"{stem}  changed nothing")
            return
        self._text = text
        write(self.folder / (stem + suffix), text.encode())
        self.told.append(f"{stem}{suffix}  {len(text.splitlines())} lines")


def dumped(param: str, bin: str | None, folder: Path, options: Mapping[str, Any]) -> Iterator[str]:
    """Write all that becomes of a network; a line for every pass."""
    from ncc.compiler import pipeline
    from ncc.compiler.driver.tuned import schedules_for

    folder.mkdir(parents=True, exist_ok=True)
    dump = Dump(folder)
    stages = pipeline.stages(param, bin, dump.look, schedules_for, **options)
    for name, stage in stages:
        if name in BEHIND:
            dump.add(name, f"{str(stage).rstrip()}\n", BEHIND[name])
        yield from dump.told
        dump.told.clear()
        if name == list(BEHIND)[-1]:
            return
