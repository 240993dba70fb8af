"""`ncc compile --emit`: writes levels of a compilation, in place of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ncc.compiler.commands.arguments import one_of, progress, write
from ncc.compiler.diagnostics import Unsupported

SUFFIXES = {
    "param": ".ncc.param",
    "ncnn": ".ncnn.mlir",
    "linalg": ".linalg.mlir",
    "kernels": ".kernels",
    "loops": ".loops.mlir",
    "llvm": ".ll",
    "asm": ".s",
    "obj": ".o",
}
"""The ending of each level's file."""

LIBRARY = "lib"
"""In place of levels: the compiled model as a library."""


def levels(text: str) -> tuple[str, ...]:
    """ncnn,llvm"""
    names = tuple(dict.fromkeys(text.split(",")))
    if LIBRARY in names and len(names) > 1:
        raise click.BadParameter(f"{LIBRARY} stands alone: it is no level but several files")
    return tuple(one_of((*SUFFIXES, LIBRARY), name) for name in names)


def completed_levels(_context: object, _parameter: object, incomplete: str) -> list[str]:
    """Complete a list of levels in a shell."""
    before, comma, begun = incomplete.rpartition(",")
    choices = SUFFIXES if comma else (*SUFFIXES, LIBRARY)
    return [before + comma + level for level in choices if level.startswith(begun)]


def emit_levels(
    param: str,
    bin: str | None,
    levels: Sequence[str],
    name: str,
    out: str | None,
    options: Mapping[str, Any],
) -> None:
    """Write levels of the compilation of a network. Files are named after the network."""
    from ncc.compiler import pipeline
    from ncc.compiler.driver.tuned import schedules_for

    if out in (None, "-"):
        refuse_mixed_output(levels)
    with progress(f"compiling {param}"):
        texts = levels_of(
            pipeline.stages(param, bin, schedules_for=schedules_for, **options), levels
        )
    write_levels(texts, levels, name, out)


def refuse_mixed_output(levels: Sequence[str]) -> None:
    """Raise if machine code would go to a terminal, or between texts on stdout."""
    if "obj" in levels and (len(levels) > 1 or sys.stdout.isatty()):
        raise click.UsageError("an object is no text: -o names the file, or the folder, for it")


def levels_of(stages: Iterable[tuple[str, Any]], wanted: Sequence[str]) -> dict[str, bytes]:
    """The text or bytes of each wanted level. The compilation ends with the last of them."""
    from ncc.dialects.stage_text import text_of

    texts: dict[str, bytes] = {}
    for name, stage in stages:
        if name in wanted:
            texts[name] = stage if isinstance(stage, bytes) else text_of(stage).encode()
        if len(texts) == len(wanted):
            break
    return texts


def write_levels(
    texts: dict[str, bytes], wanted: Sequence[str], name: str, out: str | None
) -> None:
    """Write the wanted levels to stdout, into one file, or several into a folder."""
    for level in wanted:
        if level not in texts:
            raise Unsupported(f"--emit={level} of this network", nearest=", ".join(texts))
    if out is None or out == "-":
        for level in wanted:
            click.echo(texts[level], nl=False)
    elif len(wanted) == 1 and not Path(out).is_dir():
        write(Path(out), texts[wanted[0]])
    else:
        if Path(out).exists() and not Path(out).is_dir():
            raise click.UsageError(f"{out} is a file: -o names a folder for several levels")
        Path(out).mkdir(parents=True, exist_ok=True)
        for level in wanted:
            write(Path(out, name + SUFFIXES[level]), texts[level])
