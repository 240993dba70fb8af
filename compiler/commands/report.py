"""`ncc report`: writes one page about a network, for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    stem,
    write,
)
from ncc.compiler.commands.feeding import FEEDING, Given, fed
from ncc.runtime.draft import place_of
from ncc.runtime.errors import needing_packages


@click.command("report", short_help="Write a page about a network, for a browser.")
@REREAD_PARAM
@BIN
@COMPILING
@FEEDING
@click.option("-o", "out", type=FilePath(), help="The page. Default: the .html beside PARAM.")
@rounds(5, "Each measures everything")
@click.option("--bench/--no-bench", "measured", default=True, help="Whether to measure times.")
@click.option("--verify/--no-verify", "compared", default=True, help="Whether to compare results.")
@JSON
def report_command(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    value_range: Range | None,
    out: str | None,
    rounds: int,
    measured: bool,
    compared: bool,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Write one page about PARAM: a .param, an .onnx or a .ncc.

    The page shows the layers before and after optimization, with what became of each and why; the
    time of layers and what bounds it; a roofline of the kernels; the memory plan; and how results
    compare with exact ones and with ncnn. It is one file, which loads nothing and holds no weights.

    What ncc refuses to compile, measure or compare is left out, and the page says why. If a shape
    is open, the page is about one size, which --shape gives.

    With --json, print the facts of the page instead. The page needs the extra `report`: pip install
    'ncnn-compiler[report]'.
    """
    from ncc.compiler.report.gather import gather
    from ncc.compiler.report.request import Request

    if as_json and out is not None:
        raise click.UsageError("--json prints facts, and writes no page: leave out -o")
    path = Path(out) if out is not None else Path(param).parent / (stem(param) + ".html")
    if not as_json:
        with needing_packages("ncc report", "report"):
            from ncc.compiler.report.page import html
        refuse_to_replace(files(param, bin), [str(path)])
        place_of(path)  # reports an error before the compilation
    feeds, known = fed(param, given, shapes, options["input_types"], value_range=value_range)
    request = Request(
        param,
        bin,
        {**options, "input_shapes": known},
        feeds,
        value_range,
        seed,
        rounds,
        measured,
        compared,
    )
    with progress(f"reporting on {param}"):
        facts = gather(request)
        if as_json:
            echo_json(facts.as_object())
            return
        page = html(facts).encode(errors="replace")
    write(path, page)
    click.echo(f"{path}: {len(page):,} bytes")
    for one in facts.missing:
        click.echo(f"  without {one.what}: {one.why.splitlines()[0]}")
