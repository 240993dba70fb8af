"""`ncc explain`: what became of each layer and blob, and why a pass did not fire."""

from __future__ import annotations

import click

from ncc.compiler.commands.arguments import PARAM, SHAPES, Shapes, completed, progress
from ncc.compiler.commands.optimize import named_pass, pass_names


@click.command("explain", short_help="Tell what optimize does to each layer, and why not more.")
@PARAM
@click.argument("bin", required=False)
@click.option("--blob", "blobs", multiple=True, metavar="NAME", help="Tell the way of this blob.")
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
def explain_command(
    param: str,
    bin: str | None,
    blobs: tuple[str, ...],
    passes: tuple[str, ...],
    shapes: Shapes,
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
    for blob in blobs:
        click.echo("\n".join(fate_of_blob(done, blob)))
    for name in passes:
        click.echo("\n".join(why_not(done, name)))
    if not blobs and not passes:
        click.echo("\n".join(fates(done)))
