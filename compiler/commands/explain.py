"""`ncc explain`: what became of each layer and blob, and why a pass did not fire."""

from __future__ import annotations

from collections.abc import Sequence
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
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="NAME",
    help="Tell of this kernel, or of those of this layer, how they are computed here, and why.",
)
@SHAPES
@JSON
def explain_command(
    param: str,
    bin: str | None,
    blobs: tuple[str, ...],
    passes: tuple[str, ...],
    kernels: tuple[str, ...],
    shapes: Shapes,
    as_json: bool,
) -> None:
    """Tell what `ncc optimize` does to PARAM: the fate of every layer, or of what is asked for.

    With --kernel: what `ncc compile` does at -O2 for this machine. Which layers a kernel computes,
    why it has its schedule, and where its time goes.

    BIN: the .bin beside PARAM, or null for random weights. Nothing is written.
    """
    if kernels:
        if blobs or passes:
            raise click.UsageError("--kernel explains a compilation: leave out --blob and --pass")
        lines = _of_kernels(param, bin, kernels, shapes)
        if as_json:
            echo_json({"kernels": lines})
        else:
            click.echo("\n".join(lines))
        return
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


def _of_kernels(param: str, bin: str | None, names: Sequence[str], shapes: Shapes) -> list[str]:
    """What is told of kernels of a compilation."""
    from ncc.compiler.driver.tuned import schedules_for
    from ncc.compiler.loops.explain_kernel import explain_kernels
    from ncc.compiler.pipeline import kernels_of

    random_weights = 0 if bin == "null" else None
    with progress(f"compiling {param}"):
        kernels = kernels_of(
            param,
            None if bin == "null" else bin,
            schedules_for,
            input_shapes=dict(shapes),
            random_weights=random_weights,
        )
    return list(explain_kernels(kernels, names))
