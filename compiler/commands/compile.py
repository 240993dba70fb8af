"""`ncc compile`: compiles a network into one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    PARAM,
    AskedShapes,
    FilePath,
    asked_input,
    asked_output,
    asked_shape,
    files,
    once,
    progress,
    refuse_to_replace,
    signature_lines,
    stem,
)
from ncc.compiler.commands.emit import LIBRARY, SUFFIXES, completed_levels, emit_levels, levels
from ncc.compiler.commands.library import OF_A_LIBRARY, emit_library
from ncc.runtime.draft import place_of

if TYPE_CHECKING:
    from ncc.dialects.shapes import AskedShape


@click.command("compile", short_help="Compile a network into one file.")
@PARAM
@BIN
@COMPILING
@click.option(
    "-o", "out", type=FilePath(), help="The file to write, or the folder for several files."
)
@click.option(
    "--emit",
    type=levels,
    metavar="LEVEL,...",
    shell_complete=completed_levels,
    help=f"Write {', '.join(SUFFIXES)}; or {LIBRARY}, a library for C.",
)
@OF_A_LIBRARY
@click.option(
    "--dump",
    type=FilePath(file_okay=False),
    metavar="FOLDER",
    help="Write the IR after every pass that changed it, and nothing else.",
)
@click.option(
    "--shape",
    "shapes",
    type=asked_shape,
    multiple=True,
    callback=once,
    metavar="NAME=SHAPE",
    help="The shape of an input that the file leaves open, or another shape: data=3x224x224. With "
    "data=3x?x? the code runs at every size, with data=3x64..1024x? at those in the range.",
)
@click.option(
    "--input",
    "inputs",
    type=asked_input,
    multiple=True,
    callback=once,
    metavar="NAME=PIXELS",
    help="An input that is fed pixels as they are, which code converts: data=uint8,hwc,bgr2rgb,"
    "mean=104,117,123,norm=0.017. Or a shape, as for --shape.",
)
@click.option(
    "--output",
    "outputs",
    type=asked_output,
    multiple=True,
    metavar="BLOB[=PIXELS]",
    help="A blob to compute. May be given several times. Default: the blobs that no layer reads. "
    "Code returns it as pixels with y=uint8,hwc,rgb2bgr,norm=0.017.",
)
@click.option(
    "--tuned/--no-tuned",
    default=True,
    help="Whether to use the schedules that `ncc tune` has kept for this machine.",
)
@click.option("--verify-each", is_flag=True, help="Verify the IR after each pass: for debugging.")
@click.option("--timing", is_flag=True, help="Print the time of each stage.")
def compile_command(
    param: str,
    bin: str | None,
    out: str | None,
    emit: tuple[str, ...] | None,
    dump: str | None,
    shapes: AskedShapes,
    inputs: tuple[tuple[str, AskedShape | str], ...],
    outputs: tuple[tuple[str, str | None], ...],
    timing: bool,
    name: str | None,
    weights: str | None,
    **options: Any,
) -> None:
    """Compile PARAM with its weights BIN (the .bin beside it) into one file.

    The file (-o, by default the .ncc beside PARAM) holds code, weights and signature: `ncc run` and
    `ncc.load` need nothing else. With --emit, ncc writes levels of the compilation instead: to
    stdout, or to the file or folder that -o names. With --emit=lib, it writes a library for C into
    the folder that -o names, also of a PARAM that is a .ncc. With --dump, it writes the IR after
    each pass.
    """
    from ncc.compiler.driver.compile import compile_file
    from ncc.compiler.options import TILES_LEVEL, Options
    from ncc.compiler.stopwatch import Stopwatch

    refuse_to_replace(files(param, bin), [out])
    options |= inputs_of(shapes, inputs) | {"outputs": dict(outputs) or None, "ahead": True}
    if dump is not None:
        if out is not None or emit is not None:
            raise click.UsageError("--dump writes nothing else: leave out -o and --emit")
        from ncc.compiler.commands.dump import dumped

        for line in dumped(param, bin, Path(dump), options):
            click.echo(line)
        return
    stopwatch = Stopwatch()
    if emit == (LIBRARY,):
        emit_library(param, bin, stem(param), name, weights, out, options, stopwatch)
        if timing:
            click.echo("\n".join(timing_lines(stopwatch.seconds)))
        return
    if name is not None or weights is not None:
        raise click.UsageError(f"--name and --weights are for --emit={LIBRARY}")
    if emit is not None:
        emit_levels(param, bin, emit, stem(param), out, options)
        return
    if out == "-":
        raise click.UsageError("a compiled model is a file, whose name -o tells")
    path = Path(out) if out is not None else Path(param).parent / (stem(param) + ".ncc")
    place_of(out or path)  # reports an error before the compilation
    with progress(f"compiling {param}"):
        chosen = Options.of(**options)
        artifact = compile_file(param, bin, chosen, path, stopwatch)
    click.echo(f"{path}: {path.stat().st_size:,} bytes for {artifact.target}")
    if chosen.opt_level >= TILES_LEVEL and not chosen.tiles:
        click.echo(f"  -O3 is -O2 here: {artifact.target} has no matrix tiles")
    for line in signature_lines(artifact):
        click.echo(f"  {line}")
    if timing:
        click.echo("\n".join(timing_lines(stopwatch.seconds)))


def timing_lines(seconds: Mapping[str, float]) -> Iterable[str]:
    """The stages of a compilation, a line each."""
    for stage, time in seconds.items():
        yield f"  {time * 1e3:9.1f} ms  {stage}"


def inputs_of(
    shapes: AskedShapes, inputs: Iterable[tuple[str, AskedShape | str]]
) -> dict[str, Any]:
    """The options that --shape and --input say; a name may come once with a shape."""
    said = shapes + tuple((name, value) for name, value in inputs if not isinstance(value, str))
    once(click.get_current_context(), None, said)
    pixels = {name: value for name, value in inputs if isinstance(value, str)}
    return {"input_shapes": dict(said), "inputs": pixels}
