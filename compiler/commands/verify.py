"""`ncc verify`: compiled code against ncnn, blob by blob."""

from __future__ import annotations

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
    Shapes,
    echo_json,
    progress,
)
from ncc.compiler.commands.exit_codes import DIFFERS, OK
from ncc.compiler.commands.feeding import FEEDING, Given, fed

if TYPE_CHECKING:
    from ncc.compiler.verification.verify import Report


def part(text: str) -> float:
    """1e-4"""
    with suppress(ValueError):
        if float(text) >= 0:  # NaN is not
            return float(text)
    raise click.BadParameter(f"{text!r} is no part, as 1e-4 is one")


@click.command("verify", short_help="Compare compiled code with ncnn, blob by blob.")
@REREAD_PARAM
@BIN
@COMPILING
@FEEDING
@click.option(
    "--tolerance",
    type=part,
    metavar="PART",
    default="1e-4",
    show_default=True,
    help="Part of the largest value.",
)
@JSON
def verify_command(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    as_json: bool,
    **options: Any,
) -> int:
    """Hold compiled code against the layers' references and against ncnn, blob by blob.

    ncnn is asked where its wheel is installed (pip install 'ncnn-compiler[verify]'). Exit code 5
    says that something differs; the last lines name the first layer that does.
    """
    from ncc.compiler.verification.verify import report_lines, verify

    feeds, known = fed(param, given, shapes, options["input_types"])
    with progress(f"verifying {param}"):
        report = verify(param, bin, feeds=feeds, input_shapes=known, **options)
    first = report.first
    if as_json:
        echo_json(as_object(report))
        return OK if first is None else DIFFERS
    for line in report_lines(report):
        click.echo(line)
    if first is None:
        click.echo("all blobs agree")
        return OK
    where = "as compiled for use" if first.fused else "of all"
    click.echo(f"the first {where} that differs: layer {first.layer} ({first.type})")
    if isinf(first.reference):
        click.echo(
            "where an infinity or NaN comes in, layers that became one may make something else of "
            "it: feed what the network is made for, by --input"
        )
    if first.fused:
        click.echo(f"ncc explain {param} --blob {first.blob}: what was fused on the way to it")
    return DIFFERS


def as_object(report: Report) -> dict[str, Any]:
    """All that was compared, as JSON can say it. first: the number of the first blob that differs;
    null where all agree.
    """
    rows, tolerance = report.rows, report.tolerance
    return {
        "agree": report.first is None,
        "first": None if report.first is None else rows.index(report.first),
        "tolerance": tolerance,
        "no_ncnn": report.no_ncnn,
        "blobs": [{**asdict(row), "differs": row.differs(tolerance)} for row in rows],
    }
