"""Arguments and output that several commands of `ncc` have in common: paths, shapes, progress."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ncc.dialects.shapes import AskedShape, OpenShape
from ncc.runtime.draft import draft_of
from ncc.runtime.extents import Range as ExtentRange

if TYPE_CHECKING:
    from ncc.runtime.artifact import Artifact, Binding

Decorator: TypeAlias = Callable[[Any], Any]
Shapes: TypeAlias = tuple[tuple[str, OpenShape], ...]
AskedShapes: TypeAlias = tuple[tuple[str, AskedShape], ...]
Range: TypeAlias = tuple[float, float]


def named_shape(text: str) -> tuple[str, OpenShape]:
    """data=3x224x224, or data=3x?x? where extents are open"""
    return without_ranges(asked_shape(text))


def without_ranges(asked: tuple[str, AskedShape]) -> tuple[str, OpenShape]:
    """A named shape for what takes no ranges."""
    name, shape = asked
    known = tuple(extent for extent in shape if not isinstance(extent, tuple))
    if len(known) < len(shape):
        raise click.BadParameter(
            f"the shape of {name!r} has ranges, which `ncc compile` and `ncc explain --sizes` take"
        )
    return name, known


def asked_shape(text: str) -> tuple[str, AskedShape]:
    """data=3x?x?, or data=3x64..1024x? where an open extent has a least and a most"""
    name, _, shape = text.rpartition("=")
    if not name or not is_shape(shape):
        slip = _slip(name, shape)
        raise click.BadParameter(f"{text!r} is not of the form data=3x224x224{slip}")
    return name, tuple(map(_extent, shape.split("x")))


def asked_input(text: str) -> tuple[str, AskedShape | str]:
    """data=uint8,hwc,bgr, or a shape"""
    name, _, described = text.partition("=")
    if not name or not described[:1].isalpha():
        return asked_shape(text)
    return name, described


def is_shape(text: str) -> bool:
    """Whether a text is of the form 3x224x224."""
    return all(map(_is_extent, text.split("x")))


def _slip(name: str, shape: str) -> str:
    """A hint on what is missing in NAME=SHAPE, or on what was meant."""
    if shape.startswith("@"):
        return "; `ncc run` takes arrays, by --input data=@x.npy"
    if not name:
        return ": the name of the input is missing" if is_shape(shape) else ""
    if any(".." in extent and not _is_extent(extent) for extent in shape.split("x")):
        return "; a range is 64..1024 or 64.., the least extent first"
    if "0" in shape.split("x"):
        return "; an extent is 1 or more"
    meant = "x".join(re.findall(r"\d+|\?", shape))
    return f"; did you mean '{name}={meant}'?" if is_shape(meant) else ""


def _is_extent(text: str) -> bool:
    least, dots, most = text.partition("..")
    if not dots:
        return text == "?" or _is_positive(text)
    if least != "0" and not _is_positive(least):
        return False
    return not most or (_is_positive(most) and int(least) <= int(most))


def _is_positive(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def _extent(text: str) -> int | None | ExtentRange:
    least, dots, most = text.partition("..")
    if dots:
        return int(least), int(most) if most else None
    return None if text == "?" else int(text)


def named_type(text: str) -> tuple[str, str]:
    """data=int8"""
    from ncc.dialects.element import BLOB_ELEMENTS  # imports the IR, which a command may not need

    name, _, element = text.rpartition("=")
    if not name or not element:
        raise click.BadParameter(f"{text!r} is not of the form data=int8")
    return name, one_of(BLOB_ELEMENTS, element)


def named_range(text: str) -> Range:
    """0,1"""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = math.nan
    if not low < high or math.isinf(low) or math.isinf(high):  # NaN is not
        raise click.BadParameter(f"{text!r} is not of the form 0,1: the least, the largest")
    return low, high


def one_of(choices: Iterable[str], text: str) -> str:
    """The text if it is one of the choices."""
    if text not in choices:
        raise click.BadParameter(f"{text!r} is none of {', '.join(choices)}")
    return text


def named_blob(name: str) -> str:
    """prob"""
    if not name:
        raise click.BadParameter("the name of a blob is empty")
    if "=@" in name:
        raise click.BadParameter(
            f"{name!r} is no name of a blob; `ncc run` writes arrays, by --output {name}"
        )
    return name


def asked_output(text: str) -> tuple[str, str | None]:
    """prob, or prob=uint8,hwc,rgb"""
    name, equals, described = text.partition("=")
    if equals and name and described[:1].isalpha():
        return name, described
    return named_blob(text), None


class FilePath(click.Path):
    """A path that is not empty. It is empty if a shell variable in it is not set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


def refuse_to_replace(read: Iterable[str], written: Iterable[str | None]) -> None:
    """Raise if a command would write over a file that it reads, or write one file twice."""
    sources, places = {os.path.realpath(path) for path in read}, set[str]()
    for path in written:
        place = None if path is None else os.path.realpath(path)
        if place in sources:
            raise click.UsageError(f"{path} is read: it is not written over")
        if place in places:
            raise click.UsageError(f"{path} is written twice")
        places |= set() if place is None else {place}


def all_of(*decorators: Decorator) -> Decorator:
    """Several decorators as one. Help shows their options in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def in_a_file(context: click.Context, parameter: click.Parameter, path: str) -> str:
    """The path of a file that a command reads several times.

    If the file comes through a pipe, this is the path of a copy, which lives as long as the
    command.
    """
    if not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path):
        return path
    from tempfile import TemporaryDirectory  # slow to import, and only needed here

    copy = Path(context.with_resource(TemporaryDirectory(prefix="ncc-piped-")), Path(path).name)
    copy.write_bytes(Path(path).read_bytes())
    return str(copy)


def once(
    context: click.Context, parameter: click.Parameter | None, pairs: tuple[tuple[str, Any], ...]
) -> tuple[tuple[str, Any], ...]:
    """The values of NAME=VALUE options, by name. A name may come once."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is given more than once")
    return pairs


# The reader of the file reports what is wrong with it, even that it is missing.
PARAM = click.argument("param", type=FilePath())
REREAD_PARAM = click.argument("param", type=FilePath(), callback=in_a_file)
BIN = click.argument("bin", required=False, type=FilePath())

SHAPES = click.option(
    "--shape",
    "--input",
    "shapes",
    type=named_shape,
    multiple=True,
    callback=once,
    metavar="NAME=SHAPE",
    help="The shape of an input that the file leaves open, or another shape: data=3x224x224.",
)

JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")


def rounds(default: int, work: str) -> Decorator:
    """How often a command measures. work: what one round does."""
    return click.option(
        "--rounds",
        type=click.IntRange(1),
        metavar="COUNT",
        default=default,
        show_default=True,
        help=f"The number of rounds. {work}; more rounds are more reliable.",
    )


def list_passes(documented: Callable[[], Mapping[str, str]]) -> Decorator:
    """An option that prints passes with the first paragraph of their docstrings, and ends.

    For a terminal, lines are wrapped; elsewhere each pass has one line.
    """

    def print_passes(context: click.Context, _parameter: object, asked: bool) -> None:
        if not asked or context.resilient_parsing:
            return
        paragraphs = {name: doc.partition("\n\n")[0] for name, doc in documented().items()}
        told = {name: " ".join(text.split()) for name, text in paragraphs.items()}
        if sys.stdout is not None and sys.stdout.isatty():
            formatter = context.make_formatter()
            formatter.write_dl(list(told.items()))
            click.echo(formatter.getvalue(), nl=False)
        else:
            width = max(map(len, told))
            for name, said in told.items():
                click.echo(f"{name:<{width}}  {said}".rstrip())
        context.exit()

    return click.option(
        "--list-passes",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_passes,
        help="Show all passes.",
    )


def echo_json(told: Mapping[str, Any]) -> None:
    """Print an object for programs. JSON has no infinity and no NaN: they are null."""
    import json  # slow to import, and rarely needed

    click.echo(json.dumps(_finite(told), indent=1, allow_nan=False))


def _finite(told: Any) -> Any:
    match told:
        case float():
            return told if math.isfinite(told) else None
        case Mapping():
            return {key: _finite(value) for key, value in told.items()}
        case list() | tuple():
            return [_finite(value) for value in told]
        case _:
            return told


def completed(words: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Complete an option in a shell: propose the words that begin with what is typed."""

    def begin_so(_context: object, _parameter: object, incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return begin_so


def _targets() -> list[str]:
    from ncc.runtime.cpu import TARGETS

    return [*TARGETS, "host"]


def named_target(text: str) -> str:
    """avx512"""
    return one_of(_targets(), text)


CODE = all_of(
    click.option(
        "-O",
        "opt_level",
        type=click.IntRange(0, 3),
        metavar="LEVEL",
        default=2,
        show_default=True,
        help="0: no rewrite. 1: same values. 2: fp32 in another order. "
        "3: and bf16x3, where the target has matrix tiles.",
    ),
    click.option(
        "--threads",
        "num_threads",
        type=click.IntRange(1),
        metavar="COUNT",
        default=1,
        show_default=True,
        help="The most that a run uses.",
    ),
    click.option(
        "--target",
        type=named_target,
        metavar="NAME",
        shell_complete=completed(_targets),
        default="host",
        show_default=True,
        help="amx (at -O3), avx512vnni, avx512, avx2, baseline; neoni8mm, neondot, neon; "
        "rvv; host.",
    ),
)
"""The options that decide which code ncc makes."""

COMPILING = all_of(
    CODE,
    click.option(
        "--type",
        "input_types",
        type=named_type,
        multiple=True,
        callback=lambda *given: dict(once(*given)),
        metavar="NAME=TYPE",
        help="The element type of an input, if its layers want another: data=int8.",
    ),
    click.option(
        "--random-weights",
        type=click.IntRange(0),
        metavar="SEED",
        help="Make weights up; no .bin.",
    ),
)
"""The choices of every command that compiles."""


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show progress on a terminal, if work takes longer than a second; elsewhere, show nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from ncc.compiler.commands.progress_line import is_wanted, progress_line  # import rich

    with progress_line(what) if is_wanted(os.environ) else nullcontext():
        yield


def files(param: str, bin: str | None) -> tuple[str, str]:
    """The paths of the .param and of the .bin."""
    from ncc.compiler.read.default_path import default_bin_path

    return param, bin or default_bin_path(param)


def stem(param: str) -> str:
    """The name of a network: `net` for net.param, net.param.bin, net.onnx and net.ncc."""
    name = Path(param).name
    for suffix in (".ncc", ".bin", ".param", ".onnx"):
        name = name.removesuffix(suffix)
    return name


def chosen(names: Iterable[str]) -> list[str]:
    """The options among some that the command line has, by the names of their parameters."""
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    return [name for name in names if context.get_parameter_source(name) is not default]


def signature(binding: Binding) -> str:
    """One input or output in a line."""
    rows = " (rows: at most)" if binding.dynamic else ""
    return f"{binding.name}  {binding.dtype} {binding.extents}{rows}"


def signature_lines(model: Artifact) -> Iterator[str]:
    """The inputs and outputs of a compiled model, a line each."""
    yield from (f"input   {signature(binding)}" for binding in model.inputs)
    yield from (f"output  {signature(binding)}" for binding in model.outputs)


def write(path: Path, data: bytes) -> None:
    """Write a whole file or none: under another name first, then renamed."""
    with draft_of(path) as draft:
        draft.write_bytes(data)
