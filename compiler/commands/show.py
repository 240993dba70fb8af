"""`ncc show`: shows the content of a network, or of a compiled file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    JSON,
    REREAD_PARAM,
    SHAPES,
    Shapes,
    echo_json,
    signature_lines,
)
from ncc.compiler.commands.exit_codes import OK, WRONG
from ncc.runtime.extents import OPEN
from ncc.runtime.file_kinds import is_compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ncc.compiler.summary import Summary
    from ncc.runtime.artifact import Artifact, Binding


@click.command("show", short_help="Show the content of a network or a compiled file.")
@REREAD_PARAM
@SHAPES
@JSON
def show_command(param: str, shapes: Shapes, as_json: bool) -> int:
    """Show the content of PARAM, a network or a compiled .ncc file: inputs, outputs, every layer.

    For a network: shapes, weights and multiply-adds of each layer; this needs no .bin. A layer of
    an unknown type is shown, too, and makes the exit code 1. For a compiled file: its target, its
    inputs, and the steps of a run. All of the file is read, and compared with its checksums.
    """
    if is_compiled(param):
        if shapes:
            raise click.UsageError(f"{param} is compiled: its shapes are settled")
        show_compiled(param, as_json)
        return OK
    return show_network(param, shapes, as_json)


def show_network(param: str, shapes: Shapes, as_json: bool) -> int:
    """Show a network; whether it could be compiled. Its errors go to stderr."""
    from ncc.compiler.summary import summary_of

    summary = summary_of(param, dict(shapes))
    for warning in summary.warnings:
        click.echo(warning, err=True)
    if summary.refusal is not None:
        click.echo(f"ncc: {summary.refusal}", err=True)
    code = OK if summary.refusal is None else WRONG
    if summary.unknown is not None:
        click.echo(f"warning: shapes are not all known\n{summary.unknown}", err=True)
    if as_json:
        echo_json(network_object(summary))
        return code
    for blob in summary.inputs:
        click.echo(f"input   {blob}")
    for output in summary.outputs:
        click.echo(f"output  {output}")
    for line in summary.table():
        click.echo(line)
    return code


def network_object(summary: Summary) -> dict[str, Any]:
    """A network as JSON. What is not known is null."""
    return {
        "inputs": [asdict(blob) for blob in summary.inputs],
        "outputs": [asdict(blob) for blob in summary.outputs],
        "layers": [asdict(layer) for layer in summary.layers],
        "weights": summary.weights,
        "multiply_adds": summary.multiply_adds,
        "unknown_types": summary.unknown_types,
    }


def show_compiled(path: str, as_json: bool) -> None:
    """Show a compiled file, for this CPU or another."""
    from ncc.runtime.artifact import Artifact

    artifact = Artifact.load(path, verify_weights=True, any_cpu=True)
    if as_json:
        echo_json(compiled_object(artifact))
        return
    for line in compiled_lines(artifact):
        click.echo(line)


def compiled_object(artifact: Artifact) -> dict[str, Any]:
    """A compiled file as JSON."""
    from ncc.runtime.artifact import as_bytes

    steps = artifact.info.get("steps", [])
    return {
        "model": artifact.info.get("model"),
        "opt_level": artifact.info.get("opt_level"),
        "target": artifact.target,
        "threads": artifact.threads,
        "inputs": [_binding(binding) for binding in artifact.inputs],
        "outputs": [_binding(binding) for binding in artifact.outputs],
        "code_bytes": sum(map(len, artifact.objects)),
        "weight_bytes": as_bytes(artifact.weights).nbytes,
        "arena_bytes": None if artifact.sizes is not None else artifact.arena_bytes,
        "steps": [{"kernel": name, "layers": layers} for name, layers in steps],
    }


def _binding(binding: Binding) -> dict[str, Any]:
    """A binding as JSON. An extent that is open is null. dynamic: the number of rows is the most
    that there can be. ranges: the least and the most of each extent, where some are limited.
    """
    shape = [None if extent == OPEN else extent for extent in binding.shape]
    told = {"name": binding.name, "type": binding.dtype, "shape": shape}
    return {**told, "dynamic": binding.dynamic, "ranges": binding.ranges or None}


def compiled_lines(artifact: Artifact) -> Iterator[str]:
    """Print a compiled file, with a line for each step of a run."""
    told = compiled_object(artifact)
    model, level = told["model"] or "a network", told["opt_level"]
    threads = f"{artifact.threads} thread{'s' * (artifact.threads > 1)}"
    known = "?" if level is None else level
    yield f"{model} at -O{known} for {artifact.target}, at most {threads}"
    yield from signature_lines(artifact)
    more = f"{artifact.arena_bytes:,} bytes more for each run at a time"
    if artifact.sizes is not None:
        more = "more for each run at a time, as its shapes need"
    yield (f"code {told['code_bytes']:,} bytes, weights {told['weight_bytes']:,} bytes, {more}")
    steps = told["steps"]
    width = max((len(step["kernel"]) for step in steps), default=0)
    for step in steps:
        yield f"{step['kernel']:<{width}}  {' '.join(step['layers'])}"
