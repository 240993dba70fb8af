"""`ncc run`: runs a network or a compiled file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ncc.compiler.commands.arguments import (
    BIN,
    COMPILING,
    JSON,
    REREAD_PARAM,
    Range,
    Shapes,
    chosen,
    echo_json,
    files,
    named_blob,
    progress,
    refuse_to_replace,
    signature,
    write,
)
from ncc.compiler.commands.feeding import FEEDING, Given, fed, named_file
from ncc.dialects.shapes import OpenShape, shown
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import is_compiled

if TYPE_CHECKING:
    import numpy as np

    from ncc.runtime.artifact import Binding
    from ncc.runtime.session import Model


def named_result(text: str) -> tuple[str, str | None]:
    """prob=@y.npy, or prob alone"""
    is_file = "=@" in text or text.endswith(".npy")
    return named_file(text) if is_file else (named_blob(text), None)


@click.command("run", short_help="Run a network or a compiled file.")
@REREAD_PARAM
@BIN
@COMPILING
@FEEDING
@click.option(
    "--output",
    "wanted",
    type=named_result,
    multiple=True,
    metavar="NAME[=@FILE]",
    help="A blob to compute, and the .npy file to write it to. May be given several times. "
    "Default: the blobs that no layer reads.",
)
@JSON
def run_command(
    param: str,
    bin: str | None,
    given: Given,
    shapes: Shapes,
    value_range: Range | None,
    wanted: tuple[tuple[str, str | None], ...],
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Run PARAM, a network or a compiled .ncc file, and show its outputs.

    Inputs without --input are random. --output may name any blob of a network.
    """
    from ncc.compiler.feeds import random_feeds

    read = (*files(param, bin), *(path for _, path in given))
    refuse_to_replace(read, [path for _, path in wanted])
    names = [name for name, _ in wanted] or None
    feeds, known = fed(
        param, given, shapes, options["input_types"], wanted, value_range=value_range
    )
    if is_compiled(param):
        model = loaded(param, bin, shapes, options)
        require_open(model, shapes)
    else:
        from ncc.compiler.driver import compile as front
        from ncc.compiler.driver.specialise import callable_now

        with progress(f"compiling {param}"):
            model = callable_now(
                front.compile(param, bin, input_shapes=known, outputs=names, **options)
            )
    missing = [sized(b, known.get(b.name)) for b in model.inputs if b.name not in feeds]
    made_up = [binding.name for binding in missing]
    values = model.run({**random_feeds(missing, seed, value_range), **feeds}, names)
    if as_json:
        echo_json({"outputs": list(starmap(output_object, values.items())), "random": made_up})
    else:
        for name, array in values.items():
            click.echo(summary(name, array))
        if missing:
            click.echo(told_of_random(made_up))
    for name, path in wanted:
        if path is not None:
            write(Path(path), npy(values[name]))


def loaded(path: str, bin: str | None, shapes: Sequence[Any], options: dict[str, Any]) -> Model:
    """The model in a .ncc file. Only the number of threads is still open, and maybe shapes."""
    from ncc.runtime.session import Model

    settled = ("opt_level", "target", "input_types", "random_weights")
    if bin is not None or chosen(settled):
        raise click.UsageError(f"{path} is compiled: weights, types, -O and target are settled")
    return Model.load(path, options["num_threads"] if chosen(["num_threads"]) else None)


def require_open(model: Model, shapes: Shapes) -> None:
    """Raise if a shape is said for an input of a compiled file that has one, or is none."""
    bindings = {binding.name: binding for binding in model.inputs}
    for name, shape in shapes:
        if name not in bindings:
            raise InputError.unknown_name("input", name, bindings)
        said, input = f"--shape {name}={shown(shape)}", signature(bindings[name])
        if not bindings[name].is_open:
            raise click.UsageError(f"{said}: the file is for one shape, {input}")
        if None in shape:
            raise click.UsageError(f"{said}: a run needs a number for each extent of {input}")


def sized(binding: Binding, shape: OpenShape | None) -> Binding:
    """An input with the shape that is said for it, if its own is open."""
    if shape is None or not binding.is_open:
        return binding
    settled = tuple(extent for extent in shape if extent is not None)
    if not binding.admits(settled):
        name = binding.name
        raise InputError(
            f"the shape for input {name!r} does not fit", name, binding.extents, shown(shape)
        )
    return replace(binding, shape=settled)


def told_of_random(names: Sequence[str]) -> str:
    """Say that inputs were random, and how to feed them."""
    made_up = f"input {names[0]} is" if len(names) == 1 else f"inputs {', '.join(names)} are"
    return f"({made_up} random: --input {names[0]}=@x.npy gives an array)"


def summary(name: str, array: np.ndarray[Any, Any]) -> str:
    """The content of an array, in a line."""
    head = f"{name}  {array.dtype} {'x'.join(map(str, array.shape))}"
    if not array.size:
        return f"{head}  empty"
    first = " ".join(f"{value:.5g}" for value in array.ravel()[:4])
    dots = " ..." if array.size > 4 else ""
    least, most, mean, where = array.min(), array.max(), array.mean(), array.argmax()
    return f"{head}  min {least:.5g}  mean {mean:.5g}  max {most:.5g} at {where}  [{first}{dots}]"


def output_object(name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The content of an array, as JSON. An empty array has null for its figures. max_at counts in
    the order of memory.
    """
    told: dict[str, Any] = {"name": name, "type": str(array.dtype), "shape": array.shape}
    if not array.size:
        return told | dict.fromkeys(("min", "mean", "max", "max_at"))
    least, most, mean = array.min().item(), array.max().item(), array.mean().item()
    return told | {"min": least, "mean": mean, "max": most, "max_at": int(array.argmax())}


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """An array as the bytes of a .npy file."""
    import io

    import numpy as np

    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
