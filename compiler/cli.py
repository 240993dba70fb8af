"""The command `ncc`: arguments in, results on stdout, diagnostics and progress on stderr.

It decides nothing: every command reads its arguments, calls the compiler or the runtime, and
prints. What is heavy is imported by the command that needs it.

Exit codes:  0 done
             1 the model, an input or a file is wrong
             2 the command line is wrong
             3 something that ncc does not support
             4 a bug of ncc
             5 `ncc verify` found a difference
           130 interrupted
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    FEEDING,
    PARAM,
    SHAPES,
    Shapes,
    named_file,
    progress,
    refuse_to_replace,
)
from ncc.compiler.commands.bench import bench_command
from ncc.compiler.commands.explain import explain_command
from ncc.compiler.commands.optimize import optimize_command
from ncc.compiler.commands.tune import tune_command
from ncc.compiler.diagnostics import CompilerBug, ModelWarning, NccError, Unsupported
from ncc.runtime.draft import draft_of

if TYPE_CHECKING:
    import numpy as np

    from ncc.runtime.artifact import Binding
    from ncc.runtime.session import Model

OK, WRONG, USAGE, UNSUPPORTED, BUG, DIFFERS, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

# What each level is called in a file.
SUFFIXES = {
    "param": ".ncc.param",
    "ncnn": ".ncnn.mlir",
    "linalg": ".linalg.mlir",
    "loops": ".loops.mlir",
    "llvm": ".ll",
    "asm": ".s",
    "obj": ".o",
}


def named_result(text: str) -> tuple[str, str | None]:
    """prob=@y.npy, or prob alone"""
    return named_file(text) if "=@" in text else (text, None)


def levels(text: str) -> tuple[str, ...]:
    """ncnn,llvm"""
    wanted = tuple(dict.fromkeys(text.split(",")))
    for level in wanted:
        if level not in SUFFIXES:
            raise click.BadParameter(f"{level!r} is none of {', '.join(SUFFIXES)}")
    return wanted


class Commands(click.Group):
    """Shows the commands in the order in which they are needed, not in that of their names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ncc")
def ncc() -> None:
    """A compiler for ncnn networks.

    \b
    ncc compile net.param                        net.bin beside it -> net.ncc
    ncc run net.ncc --input data=@image.npy      what comes out
    ncc COMMAND -h                               what a command can do

    Exit codes: 0 done, 1 the model or an input is wrong, 2 the command line is wrong, 3 not
    supported, 4 a bug of ncc, 5 verify found a difference, 130 interrupted.
    """


@ncc.command("compile", short_help="Compile a network into one file.")
@PARAM
@BIN
@COMPILING
@click.option("-o", "out", type=click.Path(), help="The file to write; a folder for several.")
@click.option("--emit", type=levels, metavar="LEVEL,...", help=f"Write {', '.join(SUFFIXES)}.")
@SHAPES
@click.option("--output", "outputs", multiple=True, metavar="BLOB", help="A blob to compute.")
@click.option(
    "--tuned/--no-tuned",
    default=True,
    help="Use, or not, the schedules that `ncc tune` has kept for this machine.",
)
@click.option("--timing", is_flag=True, help="Tell where the time went, stage by stage.")
def compile_command(
    param: str,
    bin: str | None,
    out: str | None,
    emit: tuple[str, ...] | None,
    shapes: Shapes,
    outputs: tuple[str, ...],
    timing: bool,
    **options: Any,
) -> None:
    """Compile PARAM with its weights BIN (the .bin beside it) into one file.

    The file (-o, by default the .ncc beside PARAM) holds code, weights and signature: `ncc run` and
    `ncc.load` need nothing else. With --emit the levels of the compilation are written instead, to
    stdout unless -o names a file, or a folder for several.
    """
    from ncc.compiler.definitions import methods_put_off

    with methods_put_off():
        from ncc.compiler import kept
        from ncc.compiler.measure.stopwatch import Stopwatch
        from ncc.compiler.options import TILES_LEVEL, Options

    refuse_to_replace(files(param, bin), [out])
    options |= {"input_shapes": dict(shapes), "outputs": outputs or None}
    if emit is not None:
        from ncc.compiler import pipeline

        with progress(f"compiling {param}"):
            texts = levels_of(pipeline.stages(param, bin, **options), emit)
        write_levels(texts, emit, stem(param), out)
        return
    stopwatch = Stopwatch()
    path = Path(out) if out is not None else Path(param).with_name(stem(param) + ".ncc")
    with progress(f"compiling {param}"):
        chosen = Options.of(**options)
        artifact = kept.compile_file(param, bin, chosen, path, stopwatch)
    click.echo(f"{path}: {path.stat().st_size:,} bytes for {artifact.target}")
    if chosen.opt_level >= TILES_LEVEL and not chosen.tiles:
        click.echo(f"  -O3 is -O2 here: {artifact.target} has no matrix tiles")
    for binding in artifact.inputs:
        click.echo(f"  input   {signature(binding)}")
    for binding in artifact.outputs:
        click.echo(f"  output  {signature(binding)}")
    if timing:
        click.echo("\n".join(timing_lines(stopwatch.seconds)))


@ncc.command("run", short_help="Run a network or a compiled file.")
@PARAM
@BIN
@COMPILING
@FEEDING
@click.option(
    "--output",
    "wanted",
    type=named_result,
    multiple=True,
    metavar="NAME[=@FILE]",
    help="A blob to compute, and the .npy file to write it to.",
)
def run_command(
    param: str,
    bin: str | None,
    given: tuple[tuple[str, str], ...],
    shapes: Shapes,
    wanted: tuple[tuple[str, str | None], ...],
    seed: int,
    **options: Any,
) -> None:
    """Run PARAM, a network or a compiled .ncc file, and show what comes out.

    Inputs that are not given are random. Any blob of a network may be asked for with --output.
    """
    from ncc.compiler.feeds import random_feeds, read_arrays

    refuse_to_replace(files(param, bin), [path for _, path in wanted])
    names = [name for name, _ in wanted] or None
    feeds = read_arrays(dict(given))
    if is_compiled(param):
        model = loaded(param, bin, shapes, options)
    else:
        from ncc.compiler import front
        from ncc.compiler.late import callable_now

        known = dict(shapes) | {name: array.shape for name, array in feeds.items()}
        with progress(f"compiling {param}"):
            model = callable_now(
                front.compile(param, bin, input_shapes=known, outputs=names, **options)
            )
    missing = [binding for binding in model.inputs if binding.name not in feeds]
    values = model.run({**random_feeds(missing, seed), **feeds}, names)
    for name, array in values.items():
        click.echo(summary(name, array))
    for name, path in wanted:
        if path is not None:
            write(Path(path), npy(values[name]))


@ncc.command("verify", short_help="Compare compiled code with ncnn, blob by blob.")
@PARAM
@BIN
@COMPILING
@FEEDING
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=1e-4,
    show_default=True,
    help="Part of the largest value.",
)
def verify_command(
    param: str,
    bin: str | None,
    given: tuple[tuple[str, str], ...],
    shapes: Shapes,
    **options: Any,
) -> int:
    """Hold compiled code against the layers' references and against ncnn, blob by blob.

    ncnn is asked where its wheel is installed (pip install 'ncc[verify]'). Exit code 5 says that
    something differs; the last lines name the first layer that does.
    """
    from ncc.compiler.feeds import read_arrays
    from ncc.compiler.verify import report_lines, verify

    feeds = read_arrays(dict(given))
    with progress(f"verifying {param}"):
        report = verify(param, bin, feeds=feeds, input_shapes=dict(shapes), **options)
    for line in report_lines(report):
        click.echo(line)
    first = report.first
    if first is None:
        click.echo("all blobs agree")
        return OK
    where = "as compiled for use" if first.fused else "of all"
    click.echo(f"the first {where} that differs: layer {first.layer} ({first.type})")
    if first.fused:
        click.echo(f"ncc explain {param} --blob {first.blob}: what was fused on the way to it")
    return DIFFERS


for _command in (bench_command, tune_command, optimize_command, explain_command):
    ncc.add_command(_command)


def is_compiled(path: str) -> bool:
    """Whether a file is a .ncc file: a zip archive."""
    with open(path, "rb") as file:
        return file.read(4) == b"PK\3\4"


def loaded(path: str, bin: str | None, shapes: Sequence[Any], options: dict[str, Any]) -> Model:
    """The model in a .ncc file, for which every choice but the threads has been made."""
    from ncc.runtime.session import Model

    context = click.get_current_context()
    chosen = [
        name
        for name in ("opt_level", "target", "input_types", "random_weights")
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    ]
    if bin is not None or shapes or chosen:
        raise click.UsageError(
            f"{path} is compiled: weights, shapes, types, -O and target are settled"
        )
    asked = context.get_parameter_source("num_threads") is not click.core.ParameterSource.DEFAULT
    return Model.load(path, options["num_threads"] if asked else None)


def files(param: str, bin: str | None) -> tuple[str, str]:
    """What a network is read from."""
    from ncc.compiler.read.default_path import default_bin_path

    return param, bin or default_bin_path(param)


def stem(param: str) -> str:
    """The name of a network: `net` for net.param and for net.param.bin."""
    return Path(param).name.removesuffix(".bin").removesuffix(".param")


def timing_lines(seconds: Mapping[str, float]) -> Iterable[str]:
    """The stages of a compilation, a line each."""
    for stage, time in seconds.items():
        yield f"  {time * 1e3:9.1f} ms  {stage}"


def signature(binding: Binding) -> str:
    """One input or output in a line."""
    rows = " (rows: at most)" if binding.dynamic else ""
    return f"{binding.name}  {binding.dtype} {binding.extents}{rows}"


def summary(name: str, array: np.ndarray[Any, Any]) -> str:
    """What is in an array, in a line."""
    head = f"{name}  {array.dtype} {'x'.join(map(str, array.shape))}"
    if not array.size:
        return f"{head}  empty"
    first = " ".join(f"{value:.5g}" for value in array.ravel()[:4])
    dots = " ..." if array.size > 4 else ""
    least, most, mean, where = array.min(), array.max(), array.mean(), array.argmax()
    return f"{head}  min {least:.5g}  mean {mean:.5g}  max {most:.5g} at {where}  [{first}{dots}]"


def levels_of(stages: Iterable[tuple[str, Any]], wanted: Sequence[str]) -> dict[str, bytes]:
    """The levels that were asked for, as they are written; no level behind the last is made."""
    texts: dict[str, bytes] = {}
    for name, stage in stages:
        if name in wanted:
            text = stage if isinstance(stage, bytes) else f"{str(stage).rstrip()}\n".encode()
            texts[name] = text
        if len(texts) == len(wanted):
            break
    return texts


def write_levels(
    texts: dict[str, bytes], wanted: Sequence[str], name: str, out: str | None
) -> None:
    """The levels that were asked for: to stdout, into one file, or into a folder for several."""
    for level in wanted:
        if level not in texts:
            raise Unsupported(f"--emit={level} of this network", nearest=", ".join(texts))
    if out is None or out == "-":
        for level in wanted:
            click.echo(texts[level], nl=False)
    elif len(wanted) == 1 and not Path(out).is_dir():
        write(Path(out), texts[wanted[0]])
    else:
        Path(out).mkdir(parents=True, exist_ok=True)
        for level in wanted:
            write(Path(out, name + SUFFIXES[level]), texts[level])


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """An array as the bytes of a .npy file."""
    import io

    import numpy as np

    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def write(path: Path, data: bytes) -> None:
    """The whole file or none: written under another name, then renamed."""
    with draft_of(path) as draft:
        draft.write_bytes(data)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        return _run(arguments)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    """What a file says in vain, as it stands: it names its line. Others tell where they arose."""
    if issubclass(category, ModelWarning):
        click.echo(message, err=True)
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        click.echo(text, err=True, nl=False)


def _run(arguments: Sequence[str]) -> int:
    try:
        code = ncc.main(list(arguments), prog_name="ncc", standalone_mode=False)
        return code if isinstance(code, int) else OK
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except NccError as error:
        click.echo(f"ncc: {error}", err=True)
        if isinstance(error, CompilerBug):
            return BUG
        return UNSUPPORTED if isinstance(error, Unsupported) else WRONG
    except OSError as error:
        told = error.strerror and error.filename is not None
        click.echo(f"ncc: {f'{error.filename}: {error.strerror}' if told else error}", err=True)
        return WRONG
    except MemoryError as error:
        click.echo(f"ncc: there is not enough memory: {error}", err=True)
        return WRONG
    except Exception as error:
        traceback.print_exc()
        click.echo(f"ncc: {CompilerBug(f'{type(error).__name__}: {error}')}", err=True)
        return BUG


def main() -> None:
    """The console script."""
    compiling = sys.argv[1:2] == ["compile"]
    if compiling:
        # Nothing but the IR of one compilation is garbage, and the process ends with it.
        gc.disable()
        # BLAS has small products to make: its threads would only keep the cores from others.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = run(sys.argv[1:])
    if compiling:
        leave(code)
    # Else Python would walk all objects once more before it gives their memory back.
    gc.freeze()
    sys.exit(code)


def leave(code: int) -> None:
    """End the process without taking apart what it made, if all that was printed has arrived."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
