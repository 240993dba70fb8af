"""`ncc bench`: measures how fast a network runs, what bounds it, and how fast its peers are."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    JSON,
    REREAD_PARAM,
    FilePath,
    Range,
    Shapes,
    echo_json,
    files,
    progress,
    refuse_to_replace,
    rounds,
    write,
)
from ncc.compiler.commands.feeding import FEEDING, Given, fed, require_onnx
from ncc.runtime.draft import place_of
from ncc.runtime.errors import NccError
from ncc.runtime.file_kinds import is_onnx

if TYPE_CHECKING:
    from rich.table import Table

    from ncc.compiler.measure.bench import Benchmark, StepCost
    from ncc.compiler.measure.peers import Feeds, Peer
    from ncc.compiler.verification.onnx_outputs import OnnxRow

MOST_LAYERS = 20
"""The number of layers in the table, without --all."""

WIDTH = 110
"""The width of tables, if no terminal says how wide it is."""


@click.command("bench", short_help="Measure time and what bounds it, layer by layer.")
@REREAD_PARAM
@BIN
@COMPILING
@FEEDING
@rounds(20, "Each measures everything")
@click.option(
    "--all", "every", is_flag=True, help=f"Show all layers, not the {MOST_LAYERS} longest."
)
@click.option("--peers", is_flag=True, help="Run ncnn, onnxruntime and OpenVINO beside it.")
@click.option(
    "--onnx",
    type=FilePath(),
    help="The same network for onnxruntime and OpenVINO; implies --peers. Results are compared.",
)
@click.option(
    "--trace",
    "trace_path",
    type=FilePath(),
    metavar="FILE",
    help="Write what each thread does in a run, for Perfetto (ui.perfetto.dev) and Chrome.",
)
@JSON
def bench_command(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    value_range: Range | None,
    rounds: int,
    every: bool,
    peers: bool,
    onnx: str | None,
    trace_path: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure PARAM: time, GFLOP/s, and for every layer how near it is to what bounds it.

    Kernels of ncc's own measure the peaks of multiply-adds, of matrix tiles and of products of
    bytes, and the bandwidths of caches and memory, in turns with the network. Compute bounds a
    layer if its arithmetic takes longer at these peaks than its bytes take at these bandwidths;
    otherwise memory bounds it. "of bound" says how near the layer comes. If a layer takes ten times
    as long as both, latency bounds it: threads wait for each other, an operation waits for the one
    before, or loops are not vectors.

    With --peers, each system runs in a process of its own, in turns with the others. With --onnx,
    results are compared with those of onnxruntime, and a line says the difference.

    With --trace, the fastest of some more runs is written as JSON in Chrome's Trace Event Format: a
    bar for the chunks that a thread does of a step. Gaps are barriers, and threads wait there.
    """
    from ncc.compiler.measure.bench import bench
    from ncc.compiler.measure.peers import compare_network

    if onnx is not None:
        require_onnx(onnx)
    if trace_path is not None:
        refuse_to_replace(files(param, bin), [trace_path])
        place_of(trace_path)  # reports an error before the measurements
    feeds, known = fed(param, given, shapes, options["input_types"], value_range=value_range)
    with progress(f"measuring {param}"):
        result = bench(
            param,
            bin,
            feeds=feeds,
            input_shapes=known,
            rounds=rounds,
            value_range=value_range,
            **options,
        )
    beside: list[Peer] = []
    chosen = {key: value for key, value in options.items() if key != "seed"}
    chosen["input_shapes"] = known
    if peers or onnx is not None:
        with progress(f"measuring the peers on {param}"):
            theirs = param if onnx is None and is_onnx(param) else onnx
            beside = compare_network(
                param, bin, result.feeds, result.outputs, onnx=theirs, rounds=rounds, **chosen
            )
    if trace_path is not None:
        with progress(f"tracing {param}"):
            write_trace(param, bin, trace_path, result.feeds, chosen)
    rows, told = ((), None) if onnx is None else compared(param, bin, onnx, result.feeds, chosen)
    if as_json:
        echo_json(as_object(result, beside) | {"onnx": [row.as_object() for row in rows]})
    else:
        show(result, beside, every)
    if told is not None:
        click.echo(told, err=as_json)


def write_trace(
    param: str, bin: str | None, path: str, feeds: Feeds, options: Mapping[str, Any]
) -> None:
    """Write a run as a trace."""
    import json  # slow to import, and rarely needed

    from ncc.compiler.measure.trace import trace
    from ncc.compiler.options import Options

    traced = trace(param, bin, Options.of(**options), feeds)
    write(Path(path), json.dumps(traced.as_object()).encode())


def compared(
    param: str, bin: str | None, onnx: str, feeds: Feeds, options: Mapping[str, Any]
) -> tuple[Sequence[OnnxRow], str]:
    """Compare the outputs with those of an .onnx: the rows, and one line, or why there are none."""
    from ncc.compiler.verification.onnx_outputs import against_onnx, summary

    if options.get("random_weights") is not None:
        return (), f"not compared with {onnx}: the weights are made up"
    try:
        rows = against_onnx(param, bin, onnx, feeds=feeds, **options)
    except NccError as error:
        return (), f"not compared with {onnx}: {error}"
    return rows, summary(onnx, rows)


def as_object(result: Benchmark, beside: Sequence[Peer]) -> dict[str, Any]:
    """All measurements, as JSON."""
    roofline = result.roofline
    return {
        "model": result.model,
        "target": result.target,
        "threads": result.threads,
        "ms": vars(result.time),
        "multiply_adds": result.multiply_adds,
        "gflops": result.gigaflops,
        "of_peak": result.gigaflops / roofline.gigaflops,
        "gbytes": result.gigabytes,
        "of_bandwidth": result.gigabytes / result.bandwidth,
        "footprint_bytes": result.footprint,
        "bound_ms": result.bound_ms,
        "peak_gflops": roofline.gigaflops,
        "tile_peak_gflops": roofline.tile_gigaflops or None,
        "byte_peak_gflops": roofline.byte_gigaflops or None,
        "gbytes_by_block": {str(size): rate for size, rate in roofline.gigabytes.items()},
        "layers": [_cost(cost) for cost in result.layers],
        "steps": [_cost(cost) for cost in result.steps],
        "peers": [
            {
                "system": peer.system,
                "ms": None if peer.time is None else vars(peer.time),
                "reason": peer.reason,
            }
            for peer in beside
        ],
    }


def _cost(cost: StepCost) -> dict[str, Any]:
    return {
        **vars(cost),
        "bound": cost.bound,
        "of_bound": cost.bound_ms / cost.ms if cost.ms else None,
    }


def show(result: Benchmark, beside: Sequence[Peer], every: bool) -> None:
    """Print tables for people."""
    from rich.console import Console
    from rich.text import Text

    # Brackets in names are no markup.
    width = None if sys.stdout.isatty() else WIDTH
    console = Console(width=width, highlight=False, markup=False)
    time, peak = result.time, result.roofline.gigaflops
    threads = f"{result.threads} thread{'s' * (result.threads > 1)}"
    name, least = Text(result.model, "bold"), Text(f"  {time.min:.3f} ms", "bold")
    console.print(name, f"  {result.target}, {threads}, {time.runs} runs", sep="")
    console.print(least, f" at best, median {time.median:.3f}, p95 {time.p95:.3f}", sep="")
    done = sum(step.flops or 0 for step in result.steps)
    console.print(
        f"  {result.gigaflops:.1f} GFLOP/s, {result.gigaflops / peak:.0%} of the {peak:.1f} that "
        f"were measured here: {2e-6 * result.multiply_adds:.1f} MFLOP in the file, "
        f"{1e-6 * done:.1f} in its kernels"
    )
    for rate, flops, kind in (
        (result.roofline.tile_gigaflops, "tile_flops", "products of matrix tiles"),
        (result.roofline.byte_gigaflops, "byte_flops", "dot products of bytes"),
    ):
        if rate:
            products = 1e-6 * sum(getattr(step, flops) for step in result.steps)
            console.print(
                f"  {products:.1f} MFLOP of them are {kind}, of which {rate:.1f} GFLOP/s were "
                "measured here"
            )
    console.print(
        f"  {result.gigabytes:.1f} GB/s, {result.gigabytes / result.bandwidth:.0%} of the "
        f"{result.bandwidth:.1f} that were measured here for its {_size(result.footprint)}"
    )
    rates = ", ".join(
        f"{_size(size)} {rate:.0f}" for size, rate in result.roofline.gigabytes.items()
    )
    console.print(f"  GB/s measured here, by the bytes a thread walks: {rates}")
    steps = sum(step.ms for step in result.steps)
    console.print(
        f"  its steps take {steps:.3f} ms, and their bounds add up to {result.bound_ms:.3f}: "
        f"{result.bound_ms / steps:.0%}; the rest of a run is the call"
    )
    console.print(layer_table(result, every, console.width))
    if beside:
        console.print(peer_table(beside))
    for peer in beside:
        if peer.reason is not None:
            console.print(f" {peer.system}: {peer.reason}")


def layer_table(result: Benchmark, every: bool, width: int) -> Table:
    """The layers, the slowest first. In a narrow terminal, numbers come before names."""
    from rich.table import Table

    narrow = width < WIDTH

    costs = sorted(result.layers, key=lambda cost: -cost.ms)
    whole = sum(cost.ms for cost in costs)
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("layer", overflow="ellipsis", max_width=34)
    if not narrow:
        table.add_column("kernels", overflow="ellipsis", no_wrap=True, max_width=22)
    unit, scale = ("ms", 1.0) if whole >= 1 else ("us", 1e3)
    for name in (unit, "time", "GFLOP/s", "MB", "GB/s", "bound", "of bound"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = costs if every else costs[:MOST_LAYERS]
    for cost in shown:
        kinds = dict.fromkeys(kernel.rpartition("_")[0] for kernel in cost.kernels)
        table.add_row(
            "+".join(cost.layers) or cost.kernels[0],
            *([] if narrow else [", ".join(kinds)]),
            f"{cost.ms * scale:.3f}",
            f"{cost.ms / whole:.1%}",
            _rate(cost.flops, cost.ms),
            f"{cost.bytes * 1e-6:.2f}",
            _rate(cost.bytes, cost.ms),
            cost.bound,
            f"{cost.bound_ms / cost.ms:.0%}" if cost.ms else "-",
        )
    if len(shown) < len(costs):
        rest = sum(cost.ms for cost in costs[len(shown) :])
        table.add_row(
            f"{len(costs) - len(shown)} more (--all)",
            *([] if narrow else [""]),
            f"{rest * scale:.3f}",
            f"{rest / whole:.1%}",
        )
    return table


def peer_table(beside: Sequence[Peer]) -> Table:
    """The systems, the fastest first."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("system")
    for name in ("min ms", "median", "p95", "against ncc"):
        table.add_column(name, justify="right")
    ours = next((peer.time.min for peer in beside if peer.system == "ncc" and peer.time), None)
    for peer in beside:
        if peer.time is None:
            continue
        ratio = "" if ours is None else f"{peer.time.min / ours:.2f} x"
        times = (peer.time.min, peer.time.median, peer.time.p95)
        table.add_row(peer.system, *(f"{ms:.3f}" for ms in times), ratio)
    return table


def _rate(count: int | None, ms: float) -> str:
    """GFLOP/s; a dash if there is no count, or the time is too short for the clock."""
    return f"{count / ms * 1e-6:.1f}" if count is not None and ms else "-"


def _size(bytes: int) -> str:
    return f"{bytes >> 20} MB" if bytes >= 1 << 20 else f"{bytes >> 10} KB"
