"""`ncc explain`: what became of each layer and blob, and why a pass did not fire."""

from __future__ import annotations

from dataclasses import asdict

import click

from ncc.compiler.commands.arguments import (
    BIN,
    JSON,
    PARAM,
    SHAPES,
    Shapes,
    completed,
    echo_json,
    named_blob,
    progress,
)
from ncc.compiler.commands.optimize import named_pass, pass_names


@click.command("explain", short_help="Tell what optimize does to each layer, and why not more.")
@PARAM
@BIN
@click.option(
    "--blob",
    "blobs",
    type=named_blob,
    multiple=True,
    metavar="NAME",
    help="Tell the way of this blob.",
)
@click.option(
    "--pass",
    "passes",
    type=named_pass,
    multiple=True,
    metavar="NAME",
    shell_complete=completed(pass_names),
    help="Tell where it could fire.",
)
@SHAPES
@JSON
def explain_command(
    param: str,
    bin: str | None,
    blobs: tuple[str, ...],
    passes: tuple[str, ...],
    shapes: Shapes,
    as_json: bool,
) -> None:
    """Tell what `ncc optimize` does to PARAM: the fate of every layer, or of what is asked for.

    BIN: the .bin beside PARAM, or null for random weights. Nothing is written.
    """
    from ncc.compiler.explain import fate_of_blob, fates, why_not
    from ncc.compiler.optimizer import optimize_network

    with progress(f"optimizing {param}"):
        done = optimize_network(param, bin, input_shapes=dict(shapes))
    for warning in done.warnings:
        click.echo(warning, err=True)
    of_blobs = [fate_of_blob(done, blob) for blob in blobs]
    of_passes = [why_not(done, name) for name in passes]
    of_layers = list(fates(done)) if not blobs and not passes else []
    if as_json:
        told = {
            "layers": [asdict(fate) for fate in of_layers],
            "blobs": [asdict(fate) for fate in of_blobs],
            "passes": [asdict(fate) for fate in of_passes],
        }
        echo_json(told)
        return
    for blob_fate in of_blobs:
        click.echo("\n".join(blob_fate.lines()))
    for pass_fate in of_passes:
        click.echo("\n".join(pass_fate.lines()))
    for layer_fate in of_layers:
        click.echo(layer_fate)
