"""`ncc compile`: a network into one file, or the levels that it goes through."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    PARAM,
    SHAPES,
    Shapes,
    files,
    one_of,
    progress,
    refuse_to_replace,
    signature,
    write,
)
from ncc.compiler.diagnostics import Unsupported
from ncc.runtime.draft import place_of

if TYPE_CHECKING:
    from ncc.compiler.kept.packer import Packer

# What each level is called in a file.
SUFFIXES = {
    "param": ".ncc.param",
    "ncnn": ".ncnn.mlir",
    "linalg": ".linalg.mlir",
    "loops": ".loops.mlir",
    "llvm": ".ll",
    "asm": ".s",
    "obj": ".o",
}


def levels(text: str) -> tuple[str, ...]:
    """ncnn,llvm"""
    return tuple(one_of(SUFFIXES, level) for level in dict.fromkeys(text.split(",")))


def completed_levels(_context: object, _parameter: object, incomplete: str) -> list[str]:
    """What a shell proposes behind the levels that are there."""
    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + level for level in SUFFIXES if level.startswith(begun)]


@click.command("compile", short_help="Compile a network into one file.")
@PARAM
@BIN
@COMPILING
@click.option("-o", "out", type=click.Path(), help="The file to write; a folder for several.")
@click.option(
    "--emit",
    type=levels,
    metavar="LEVEL,...",
    shell_complete=completed_levels,
    help=f"Write {', '.join(SUFFIXES)}.",
)
@click.option(
    "--dump",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Write the IR behind every pass that changed it, and nothing else.",
)
@SHAPES
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="BLOB",
    help="A blob to compute; several may be given. By default those that no layer reads.",
)
@click.option(
    "--tuned/--no-tuned",
    default=True,
    help="Use, or not, the schedules that `ncc tune` has kept for this machine.",
)
@click.option("--timing", is_flag=True, help="Tell where the time went, stage by stage.")
@click.pass_obj
def compile_command(
    packer: Packer | None,
    /,
    param: str,
    bin: str | None,
    out: str | None,
    emit: tuple[str, ...] | None,
    dump: str | None,
    shapes: Shapes,
    outputs: tuple[str, ...],
    timing: bool,
    **options: Any,
) -> None:
    """Compile PARAM with its weights BIN (the .bin beside it) into one file.

    The file (-o, by default the .ncc beside PARAM) holds code, weights and signature: `ncc run` and
    `ncc.load` need nothing else. With --emit the levels of the compilation are written instead, to
    stdout unless -o names a file, or a folder for several; with --dump what every pass made of it.
    """
    from ncc.compiler.process.definitions import methods_put_off

    with methods_put_off():
        from ncc.compiler.kept import models
        from ncc.compiler.measure.stopwatch import Stopwatch
        from ncc.compiler.options import TILES_LEVEL, Options

    refuse_to_replace(files(param, bin), [out])
    options |= {"input_shapes": dict(shapes), "outputs": outputs or None}
    if dump is not None:
        if out is not None or emit is not None:
            raise click.UsageError("--dump writes nothing else: leave out -o and --emit")
        from ncc.compiler.commands.dump import dumped

        for line in dumped(param, bin, Path(dump), options):
            click.echo(line)
        return
    if emit is not None:
        emit_levels(param, bin, emit, out, options)
        return
    if out == "-":
        raise click.UsageError("a compiled model is a file, whose name -o tells")
    stopwatch = Stopwatch()
    path = Path(out) if out is not None else Path(param).parent / (stem(param) + ".ncc")
    place_of(path)  # for its errors, which would come late
    with progress(f"compiling {param}"):
        chosen = Options.of(**options)
        artifact = models.compile_file(param, bin, chosen, path, stopwatch, packer)
    click.echo(f"{path}: {path.stat().st_size:,} bytes for {artifact.target}")
    if chosen.opt_level >= TILES_LEVEL and not chosen.tiles:
        click.echo(f"  -O3 is -O2 here: {artifact.target} has no matrix tiles")
    for binding in artifact.inputs:
        click.echo(f"  input   {signature(binding)}")
    for binding in artifact.outputs:
        click.echo(f"  output  {signature(binding)}")
    if timing:
        click.echo("\n".join(timing_lines(stopwatch.seconds)))


def emit_levels(
    param: str,
    bin: str | None,
    levels: Sequence[str],
    out: str | None,
    options: Mapping[str, Any],
) -> None:
    """Write levels of a compilation in place of a model."""
    from ncc.compiler import pipeline

    if out in (None, "-"):
        refuse_mixed_output(levels)
    with progress(f"compiling {param}"):
        texts = levels_of(pipeline.stages(param, bin, **options), levels)
    write_levels(texts, levels, stem(param), out)


def refuse_mixed_output(levels: Sequence[str]) -> None:
    """Raise where stdout should show machine code to a person, or hold it amid text."""
    if "obj" in levels and (len(levels) > 1 or sys.stdout.isatty()):
        raise click.UsageError("an object is no text: -o names the file, or the folder, for it")


def stem(param: str) -> str:
    """The name of a network: `net` for net.param and for net.param.bin."""
    return Path(param).name.removesuffix(".bin").removesuffix(".param")


def timing_lines(seconds: Mapping[str, float]) -> Iterable[str]:
    """The stages of a compilation, a line each."""
    for stage, time in seconds.items():
        yield f"  {time * 1e3:9.1f} ms  {stage}"


def levels_of(stages: Iterable[tuple[str, Any]], wanted: Sequence[str]) -> dict[str, bytes]:
    """The levels that were asked for, as they are written; no level behind the last is made."""
    texts: dict[str, bytes] = {}
    for name, stage in stages:
        if name in wanted:
            text = stage if isinstance(stage, bytes) else f"{str(stage).rstrip()}\n".encode()
            texts[name] = text
        if len(texts) == len(wanted):
            break
    return texts


def write_levels(
    texts: dict[str, bytes], wanted: Sequence[str], name: str, out: str | None
) -> None:
    """The levels that were asked for: to stdout, into one file, or into a folder for several."""
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
