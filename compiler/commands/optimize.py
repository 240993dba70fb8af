"""`ncc optimize`: takes the arguments of ncnnoptimize in their order, and options of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import click

from ncc.compiler.commands.arguments import (
    JSON,
    SHAPES,
    FilePath,
    Shapes,
    completed,
    echo_json,
    list_passes,
    named_blob,
    progress,
)

HALVES = (1, 65536)
"""The flags that mean fp16. Any other flag means fp32."""


def pass_names() -> Iterable[str]:
    """All passes of `ncc optimize`."""
    from ncc.compiler.ncnn.optimize import pattern_names

    return pattern_names()


def named_pass(name: str) -> str:
    """fuse_binaryop_eltwise"""
    from ncc.compiler.ncnn.optimize import require_pattern
    from ncc.runtime.errors import InputError

    try:
        require_pattern(name)
    except InputError as error:
        raise click.BadParameter(str(error)) from None
    return name


def documented() -> Mapping[str, str]:
    """All passes of `ncc optimize` with their docstrings."""
    from ncc.compiler.explain import passes

    return passes()


class OptimizeCommand(click.Command):
    """The command; of an .onnx it takes no IN.BIN, and FLAG may be left out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in what an .onnx does without."""
        from ncc.runtime.file_kinds import ONNX

        if args and args[0].endswith(ONNX):
            args = [args[0], args[0], *args[1:]]
            if len(args) < 5 or args[4].startswith("-"):
                args.insert(4, "0")
        return super().parse_args(ctx, args)


@click.command(
    "optimize",
    cls=OptimizeCommand,
    short_help="Make a network smaller and faster, for ncnn to run.",
)
@click.argument("in_param", type=FilePath(), metavar="IN.PARAM")
@click.argument("in_bin", type=FilePath(), metavar="IN.BIN")
@click.argument("out_param", type=FilePath(), metavar="OUT.PARAM")
@click.argument("out_bin", type=FilePath(), metavar="OUT.BIN")
@click.argument("flag", metavar="FLAG", type=int)
@click.argument("start", metavar="[CUTSTART]", required=False)
@click.argument("end", metavar="[CUTEND]", required=False)
@list_passes(documented)
@click.option(
    "--without",
    "off",
    type=named_pass,
    multiple=True,
    metavar="PASS",
    shell_complete=completed(pass_names),
    help="A pass that must not fire.",
)
@click.option(
    "--keep",
    type=named_blob,
    multiple=True,
    metavar="BLOB",
    help="A blob that must survive by name.",
)
@click.option("--dry-run", is_flag=True, help="Print the rewrites, and write nothing.")
@click.option(
    "--verify-rewrites",
    is_flag=True,
    help="Try each rewrite on numbers, and refuse those that change any.",
)
@SHAPES
@JSON
def optimize_command(
    in_param: str,
    in_bin: str,
    out_param: str,
    out_bin: str,
    flag: int,
    shapes: Shapes,
    as_json: bool,
    **options: Any,
) -> None:
    """Make a network smaller and faster, for ncnn to run. Results change by rounding only.

    \b
    ncc optimize net.onnx net.param net.bin      converts an ONNX model to ncnn

    IN.BIN: null makes random weights. FLAG: 1 or 65536 stores weights as fp16, any other number
    as fp32. CUTSTART and CUTEND: the names of the first and the last layer to keep. --shape gives
    the shape of an input that the file leaves open (data=3x224x224); an .onnx may leave it open.

    Each line names a rewrite, its pass and its layers; a summary follows. If ncc cannot read or
    write something, it writes nothing and ends with an error.
    """
    from ncc.compiler.optimizer import optimize

    with progress(f"optimizing {in_param}"):
        report = optimize(
            in_param,
            None if in_bin == in_param else in_bin,
            out_param,
            out_bin,
            flag in HALVES,
            input_shapes=dict(shapes),
            **options,
        )
    for warning in report.warnings:
        click.echo(warning, err=True)
    if as_json:
        echo_json(asdict(report))
        return
    for line in report.lines():
        click.echo(line)
    if report.written is None:
        click.echo("a dry run: nothing is written")
