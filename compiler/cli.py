"""The command `ncc`: arguments in, results on stdout, diagnostics and progress on stderr.

It decides nothing: every command (`commands/`) reads its arguments, calls the compiler or the
runtime, and prints. What is heavy is imported by the command that needs it.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

from ncc.compiler.commands.exit_codes import BUG, INTERRUPTED, OK, UNSUPPORTED, WRONG
from ncc.compiler.diagnostics import CacheWarning, CompilerBug, ModelWarning, NccError, Unsupported

COMMANDS = (
    "compile",
    "run",
    "show",
    "verify",
    "bench",
    "tune",
    "report",
    "optimize",
    "explain",
)
"""The commands, in the order in which they are needed."""


class Commands(click.Group):
    """Imports a command when it is asked for: `commands/show.py` has `show_command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ncc.compiler.commands.{cmd_name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Who names a file alone is told that a command stands in front of it; who asks for help
        as for a command, how it is asked for.
        """
        if args[0] in ("help", "version"):
            message = f"there is no command {args[0]!r}; did you mean ncc --{args[0]}?"
            raise click.UsageError(message, ctx)
        if args[0] not in COMMANDS and os.path.isfile(args[0]):
            does = "run" if args[0].endswith(".ncc") else "compile"
            raise click.UsageError(
                f"{args[0]} is a file and no command; did you mean ncc {does} {args[0]}?", ctx
            )
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ncnn-compiler")
def ncc() -> None:
    """A compiler for ncnn networks.

    \b
    ncc compile net.param                        net.bin beside it -> net.ncc
    ncc run net.ncc --input data=@image.npy      what comes out
    ncc show net.param                           its inputs, outputs and layers
    ncc COMMAND -h                               what a command can do

    Exit codes: 0 done, 1 the model or an input is wrong or missing, 2 the command line is wrong,
    3 not supported, 4 a bug of ncc, 5 verify found a difference, 130 interrupted.
    """


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
    """What ncc warns of, as it stands: it names a file. Others tell where they arose."""
    if issubclass(category, ModelWarning | CacheWarning):
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
        reason = error.strerror or str(error)
        where = "" if error.filename is None else f"{error.filename}: "
        click.echo(f"ncc: {where}{reason}", err=True)
        return WRONG
    except MemoryError as error:
        click.echo(f"ncc: there is not enough memory: {error}", err=True)
        return WRONG
    except Exception as error:
        # Python 3.11 wraps what interrupts the making of a class.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        from traceback import print_exc  # slow to import

        print_exc()
        click.echo(f"ncc: {CompilerBug(f'{type(error).__name__}: {error}')}", err=True)
        return BUG


def main() -> None:
    """Run the command line, and end the process."""
    compiling = sys.argv[1:2] == ["compile"]
    if compiling:
        # Nothing but the IR of one compilation is garbage, and the process ends with it.
        gc.disable()
    else:
        gc.enable()
    code = run(sys.argv[1:])
    # Threads of what was interrupted, which may pack weights for seconds, are not waited for.
    if compiling or code == INTERRUPTED:
        leave(code)
    # Else Python would walk all objects once more before it gives their memory back.
    gc.freeze()
    sys.exit(code)


def leave(code: int) -> None:
    """End the process without taking apart what it made, if all that was printed has arrived."""
    with suppress(OSError):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # as where it was closed when the process began
                stream.flush()
        os._exit(code)
