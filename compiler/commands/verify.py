"""`ncc verify`: compares compiled code with exact results and with ncnn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from math import isinf
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    JSON,
    REREAD_PARAM,
    Range,
    Shapes,
    echo_json,
    progress,
)
from ncc.compiler.commands.exit_codes import DIFFERS, OK
from ncc.compiler.commands.feeding import FEEDING, Given, fed, require_onnx
from ncc.runtime.file_kinds import is_onnx

if TYPE_CHECKING:
    from ncc.compiler.verification.verify import Report


def part(text: str) -> float:
    """1e-4"""
    with suppress(ValueError):
        if float(text) >= 0:  # NaN is not
            return float(text)
    raise click.BadParameter(f"{text!r} is no part, as 1e-4 is one")


@click.command("verify", short_help="Compare compiled code with exact results and ncnn.")
@REREAD_PARAM
@BIN
@COMPILING
@FEEDING
@click.option(
    "--tolerance",
    type=part,
    metavar="PART",
    default="2.4e-7",
    show_default=True,
    help="The largest difference that counts as none, as a part of a blob's largest value.",
)
@click.option(
    "--outputs",
    is_flag=True,
    help="Judge outputs only, no layers. This is quicker, and misses faults that rounding hides.",
)
@click.option(
    "--onnx",
    "--against",
    type=click.Path(),
    help="The .onnx that PARAM was converted from: compare results with onnxruntime, too.",
)
@JSON
def verify_command(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    value_range: Range | None,
    outputs: bool,
    onnx: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Compare compiled code with the definitions of its layers, and with ncnn.

    Exact results are those of the definitions in float64. "error" is the largest difference to
    them, and "noise" the largest difference of float32 in another order, both as parts of the
    blob's largest value. "times" divides the error of a channel, row or column by its noise; the
    largest quotient counts. An output differs from 8 times on. A layer is judged on the inputs that
    compiled code gave it, and differs from 4 times on. So verify finds faults that rounding hides
    at the outputs.

    If the wheel of ncnn is installed (pip install 'ncnn-compiler[verify]'), ncnn runs on the same
    inputs, and "ncnn" is its error. A layer differs, too, if ncnn disagrees with its definition.

    Of an .onnx, each value of the graph is compared with that of onnxruntime, and the first that
    differs is named.

    With --onnx (or --against), the last line compares the outputs with those of onnxruntime (pip
    install 'ncnn-compiler[onnx]'), and all blobs that have the names of its values. They differ
    from 2 % of the largest value on, because a conversion changes numbers more than a compilation
    does.

    If something differs, the exit code is 5, and the last lines name the first such layer.
    """
    from ncc.compiler.verification.onnx_outputs import against_onnx, require_onnxruntime, summary
    from ncc.compiler.verification.verify import report_lines, verify

    if is_onnx(param):
        return _verify_onnx(param, bin, given, shapes, value_range, outputs, as_json, options)
    if onnx is not None:
        if options["random_weights"] is not None:
            raise click.UsageError("weights that are made up are not those of --onnx")
        require_onnxruntime()
        require_onnx(onnx)
    feeds, known = fed(param, given, shapes, options["input_types"], value_range=value_range)
    with progress(f"verifying {param}"):
        report = verify(
            param,
            bin,
            feeds=feeds,
            input_shapes=known,
            layers=not outputs,
            value_range=value_range,
            **options,
        )
        del options["tolerance"]
        options |= {"feeds": feeds, "input_shapes": known, "value_range": value_range}
        rows = () if onnx is None else against_onnx(param, bin, onnx, **options)
    if as_json:
        echo_json(as_object(report) | {"onnx": [row.as_object() for row in rows]})
    else:
        last = [] if onnx is None else [summary(onnx, rows)]
        for line in (*report_lines(report), *verdict(report, param), *last):
            click.echo(line)
    differs = report.first is not None or any(row.differs for row in rows)
    return DIFFERS if differs else OK


def _verify_onnx(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    value_range: Range | None,
    outputs: bool,
    as_json: bool,
    options: dict[str, Any],
) -> int:
    """Compare an .onnx with onnxruntime."""
    from ncc.compiler.verification.onnx_nodes import TOLERANCE, verify_onnx

    if bin is not None:
        raise click.UsageError("an .onnx has its weights: no .bin belongs to it")
    feeds, known = fed(param, given, shapes, options["input_types"], value_range=value_range)
    options["tolerance"] = max(options["tolerance"], TOLERANCE)
    with progress(f"verifying {param}"):
        report = verify_onnx(
            param,
            feeds=feeds,
            input_shapes=known,
            nodes=not outputs,
            value_range=value_range,
            **options,
        )
    first = report.first
    if as_json:
        values = [row.as_object(report.tolerance) for row in report.rows]
        number = None if first is None else report.rows.index(first)
        echo_json({"agree": first is None, "first": number, "values": values})
    else:
        for line in report.lines():
            click.echo(line)
    return OK if first is None else DIFFERS


def verdict(report: Report, param: str) -> Iterator[str]:
    """The verdict on the table, and how to go on."""
    from ncc.compiler.verification.report import WEIGHT

    first = report.first
    if first is None:
        yield "all blobs agree"
        return
    where = "as compiled for use" if first.fused else "of all"
    yield f"the first {where} that differs: layer {first.layer} ({first.type})"
    if first.weight > WEIGHT:
        yield f"it acts as if a weight were off by {first.weight:.0e} of the largest one"
    if not first.is_off(report.tolerance):
        yield "compiled code agrees with the definition of the layer, ncnn does not: report it"
    if isinf(first.error):
        yield (
            "where an infinity or NaN comes in, layers that became one may make something else of "
            "it: feed what the network is made for, by --input"
        )
    if first.fused:
        yield f"ncc explain {param} --blob {first.blob}: what was fused on the way to it"


def as_object(report: Report) -> dict[str, Any]:
    """The report as JSON. first: the number of the first blob that differs; null if all agree."""
    rows, tolerance = report.rows, report.tolerance
    return {
        "agree": report.first is None,
        "first": None if report.first is None else rows.index(report.first),
        "tolerance": tolerance,
        "no_ncnn": report.no_ncnn,
        "blobs": [{**asdict(row), "differs": row.differs(tolerance)} for row in rows],
    }
