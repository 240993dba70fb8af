"""`ncc show`: what is in a network, or in a compiled file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ncc.compiler.commands.arguments import (
    REREAD_PARAM,
    SHAPES,
    Shapes,
    is_compiled,
    signature,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command("show", short_help="Tell what is in a network or a compiled file.")
@REREAD_PARAM
@SHAPES
def show_command(param: str, shapes: Shapes) -> None:
    """Tell what is in PARAM, a network or a compiled .ncc file: inputs, outputs, and every layer.

    Of a network: shapes, weights and multiply-adds, layer by layer; no .bin is needed. Of a
    compiled file: what it runs on, what it takes, and the steps of a run.
    """
    if is_compiled(param):
        if shapes:
            raise click.UsageError(f"{param} is compiled: its shapes are settled")
        lines = compiled_lines(param)
    else:
        lines = network_lines(param, shapes)
    for line in lines:
        click.echo(line)


def network_lines(param: str, shapes: Shapes) -> Iterator[str]:
    """A network; why shapes are not known goes to stderr."""
    from ncc.compiler.summary import summary_of

    summary = summary_of(param, dict(shapes))
    if summary.unknown is not None:
        click.echo(f"warning: shapes are not all known\n{summary.unknown}", err=True)
    yield from (f"input   {line}" for line in summary.inputs)
    yield from (f"output  {line}" for line in summary.outputs)
    yield from summary.layers


def compiled_lines(path: str) -> Iterator[str]:
    """A compiled file, which need not be for this CPU."""
    from ncc.runtime.artifact import Artifact, as_bytes

    artifact = Artifact.load(path, any_cpu=True)
    model, level = artifact.info.get("model", "a network"), artifact.info.get("opt_level", "?")
    threads = f"{artifact.threads} thread{'s' * (artifact.threads > 1)}"
    yield f"{model} at -O{level} for {artifact.target}, at most {threads}"
    yield from (f"input   {signature(binding)}" for binding in artifact.inputs)
    yield from (f"output  {signature(binding)}" for binding in artifact.outputs)
    code, weights = sum(map(len, artifact.objects)), as_bytes(artifact.weights).nbytes
    yield (
        f"code {code:,} bytes, weights {weights:,} bytes, "
        f"{artifact.arena_bytes:,} bytes more for each run at a time"
    )
    steps = artifact.info.get("steps", [])
    width = max((len(kernel) for kernel, _ in steps), default=0)
    for kernel, layers in steps:
        yield f"{kernel:<{width}}  {' '.join(layers)}"
