"""`ncc compile --emit=lib`: writes a network as a library for C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import all_of, chosen, progress, signature_lines
from ncc.runtime.draft import place_of
from ncc.runtime.file_kinds import is_compiled

if TYPE_CHECKING:
    from ncc.compiler.stopwatch import Stopwatch
    from ncc.runtime.artifact import Artifact

EMBEDDED, IN_A_FILE = "embedded", "file"

OF_A_LIBRARY = all_of(
    click.option(
        "--name",
        metavar="NAME",
        help="With --emit=lib: what names of the library begin with. Default: the name of PARAM.",
    ),
    click.option(
        "--weights",
        type=click.Choice([EMBEDDED, IN_A_FILE]),
        metavar="WHERE",
        help="With --emit=lib: embedded (in the library, the default), or file (beside it).",
    ),
)
"""The options of a library alone."""

_SETTLED = (
    "opt_level", "num_threads", "target", "input_types", "random_weights", "shapes", "outputs",
    "tuned", "timing",
)  # fmt: skip
"""The options that a compiled model has no use for."""


def emit_library(
    param: str,
    bin: str | None,
    stem: str,
    name: str | None,
    weights: str | None,
    out: str | None,
    options: Mapping[str, Any],
    stopwatch: Stopwatch,
) -> None:
    """Write the library of a network, or of a compiled model, into a folder.

    stem: the name of the network; name: that of the library, if the user gives one.
    """
    from importlib.metadata import version  # slow to import, as tempfile is
    from tempfile import TemporaryDirectory

    from ncc.compiler.library.make import write_library
    from ncc.compiler.library.signature import name_like, name_of

    called = name_like(stem) if name is None else name_of(name)
    if out == "-":
        raise click.UsageError("a library is several files, whose folder -o tells")
    folder = Path(param).parent / stem if out is None else Path(out)
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir():
        raise click.UsageError(f"{there} is a file: -o names the folder of the library")
    place_of(there / f"{called}.h")  # reports an error before the compilation
    with TemporaryDirectory(prefix=".ncc-", dir=there) as beside, _told_of(folder, beside):
        artifact = compiled(param, bin, Path(beside, "model.ncc"), options, stopwatch)
        embedded = weights != IN_A_FILE
        written = write_library(artifact, folder, called, version("ncnn-compiler"), embedded)
    click.echo(f"{folder}: {', '.join(path.name for path in written)} for {artifact.target}")
    for line in signature_lines(artifact):
        click.echo(f"  {line}")


@contextmanager
def _told_of(folder: Path, beside: str) -> Iterator[None]:
    """Let errors about files beside the folder name the folder: the user knows no others."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and Path(error.filename).is_relative_to(beside):
            error.filename = str(folder)
        raise


def compiled(
    param: str, bin: str | None, draft: Path, options: Mapping[str, Any], stopwatch: Stopwatch
) -> Artifact:
    """The compiled model in a file, or of a network, which is compiled into the draft."""
    from ncc.runtime.artifact import Artifact

    if is_compiled(param):
        if bin is not None or chosen(_SETTLED):
            raise click.UsageError(f"{param} is compiled: all other choices are settled")
        artifact = Artifact.load(param, any_cpu=True)
        if artifact.by_sample:
            raise click.UsageError(f"{param} runs a batch sample by sample: give the .onnx itself")
        return artifact
    from ncc.compiler.driver.compile import compile_file
    from ncc.compiler.options import Options

    with progress(f"compiling {param}"):
        compile_file(param, bin, Options.of(**options, by_sample=False), draft, stopwatch)
    return Artifact.load(draft, any_cpu=True)
