"""`ncc compile --dump`: writes a network after every pass, one file for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ncc.compiler.commands.arguments import write

BEHIND = {"kernels": ".kernels", "loops": ".mlir", "llvm": ".ll", "asm": ".s"}
"""The levels after the passes, and the endings of their files."""


class Dump:
    """Files in a folder, numbered in the order of the passes.

    A pass that changed nothing has a number and no file. So the difference between a file and the
    one before it is the work of its pass.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self._text = ""
        self._number = 0

    def observe(self, name: str, module: object) -> None:
        """Write the module after a pass."""
        from ncc.dialects.stage_text import text_of

        self.add(name, text_of(module), ".mlir")

    def add(self, name: str, text: str, suffix: str) -> None:
        """Write a text, unless it equals the one before."""
        stem = f"{self._number:02}-{name.replace(' ', '-')}"
        self._number += 1
        if text == self._text:
            self.told.append(f"{stem}  changed nothing")
            return
        self._text = text
        write(self.folder / (stem + suffix), text.encode())
        self.told.append(f"{stem}{suffix}  {len(text.splitlines())} lines")


def dumped(param: str, bin: str | None, folder: Path, options: Mapping[str, Any]) -> Iterator[str]:
    """Write a network after every pass, and print a line for each."""
    from ncc.compiler import pipeline
    from ncc.compiler.driver.tuned import schedules_for
    from ncc.dialects.stage_text import text_of

    folder.mkdir(parents=True, exist_ok=True)
    dump = Dump(folder)
    stages = pipeline.stages(param, bin, dump.observe, schedules_for, **options)
    for name, stage in stages:
        if name in BEHIND:
            dump.add(name, text_of(stage), BEHIND[name])
        yield from dump.told
        dump.told.clear()
        if name == list(BEHIND)[-1]:
            return
