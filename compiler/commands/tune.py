"""`ncc tune`: finds the fastest schedules on this machine, for later compilations to use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    REREAD_PARAM,
    Range,
    Shapes,
    progress,
    rounds,
)
from ncc.compiler.commands.feeding import FEEDING, Given, fed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ncc.compiler.loops.schedule.schedule import Schedule
    from ncc.compiler.measure.tune import Tuning


@click.command("tune", short_help="Time the kernels' candidates, and keep the fastest.")
@REREAD_PARAM
@BIN
@COMPILING
@FEEDING
@rounds(15, "Each times every candidate")
@click.option("--again", is_flag=True, help="Also time kernels that were tuned before.")
def tune_command(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    value_range: Range | None,
    rounds: int,
    again: bool,
    seed: int,
    **options: Any,
) -> None:
    """Time the candidates for the kernels of PARAM, and keep the fastest ones.

    Later compilations on this machine use them, for every network that has the same kernels. With
    `ncc compile --no-tuned`, or NCC_TUNED=off in the environment, they use the choice of the cost
    model. Results are the same, bit by bit. Schedules count for one CPU, target and version of ncc.
    The file is text, beside the cache of kernels: you may delete lines.
    """
    from ncc.compiler.measure.tune import tune
    from ncc.compiler.options import Options

    feeds, known = fed(param, given, shapes, options["input_types"], value_range=value_range)
    chosen = Options.of(input_shapes=known, **options)
    with progress(f"tuning {param}"):
        found = tune(
            param,
            bin,
            chosen,
            feeds=feeds,
            seed=seed,
            value_range=value_range,
            rounds=rounds,
            again=again,
        )
    click.echo("\n".join(lines(found)))


def lines(found: Tuning) -> Iterator[str]:
    """Print the gain of each layer, and the file that keeps the schedules."""
    threads = f"{found.threads} thread{'s' * (found.threads > 1)}"
    yield f"{found.model}  {found.target}, {threads}"
    changed = [kernel for kernel in found.kernels if kernel.changed]
    if changed:
        yield f"  {'us':>10} {'tuned':>10}        {'tiles: points of loops':40} layers"
    for kernel in sorted(changed, key=lambda one: one.after_ms - one.before_ms):
        before, after = kernel.before_ms, kernel.after_ms
        names = "+".join(kernel.layers[:3]) + ", ..." * (len(kernel.layers) > 3)
        known = "  (known)" * kernel.known
        tiles = f"{_tile(kernel.favourite)} -> {_tile(kernel.schedule)}"
        yield (
            f"  {1e3 * before:10.1f} {1e3 * after:10.1f} {_gain(before, after)}  {tiles:40} "
            f"{names}{known}"
        )
    whole = _gain(found.before_ms, found.after_ms)
    yield f"  {1e3 * found.before_ms:10.1f} {1e3 * found.after_ms:10.1f} {whole}  all steps"
    tried = sum(kernel.candidates for kernel in found.kernels if not kernel.known)
    yield (
        f"{len(changed)} of {len(found.kernels)} kernels that have a choice get another schedule; "
        f"{tried} candidates timed"
    )
    yield f"kept in {found.path}"


def _tile(schedule: Schedule) -> str:
    """The tile of each tiled loop: d1:2 d2:7 d0:2."""
    return " ".join(f"d{loop}:{points}" for loop, points in schedule.tile)


def _gain(before: float, after: float) -> str:
    """The speedup."""
    return f"{before / after:4.2f}x" if after else "    -"
