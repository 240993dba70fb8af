"""The inputs of a command that runs a network: arrays in files, shapes, types.

Names are checked before files: for `--input wrong=@missing.npy`, the error is about the name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import click

from ncc.compiler.commands.arguments import (
    Range,
    Shapes,
    all_of,
    is_shape,
    named_range,
    named_shape,
    once,
)
from ncc.dialects.shapes import OpenShape, shown
from ncc.runtime.draft import place_of
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import HEAD, ONNX, is_compiled, is_onnx, other_kind

if TYPE_CHECKING:
    from ncc.compiler.feeds import Array
    from ncc.runtime.artifact import Binding

Given: TypeAlias = tuple[tuple[str, str], ...]


def named_file(text: str) -> tuple[str, str]:
    """data=@x.npy"""
    name, _, path = text.partition("=@")
    if not name or not path:
        raise click.BadParameter(f"{text!r} is not of the form data=@x.npy{_slip(text)}")
    return name, os.path.expanduser(path)  # no shell expands this after the @


def _slip(text: str) -> str:
    """A hint on what is missing in NAME=@FILE, or on what was meant."""
    blob, mark, file = text.partition("=" if "=" in text else "@")
    blob, file = blob.strip(), file.strip().removeprefix("@").strip()
    if not mark:
        return ""
    if not blob:
        return ": the name of the blob is missing"
    if not file:
        return ": the name of the file is missing"
    meant = f"--shape {blob}={file}" if is_shape(file) else f"{blob}=@{file}"
    return f"; did you mean {meant}?"


FEEDING = all_of(
    click.option(
        "--input",
        "given",
        type=named_file,
        multiple=True,
        callback=once,
        metavar="NAME=@FILE",
        help="An input, as a .npy file, or an image of the size that the network takes. Inputs "
        "that are not given are random.",
    ),
    click.option(
        "--shape",
        "shapes",
        type=named_shape,
        multiple=True,
        callback=once,
        metavar="NAME=SHAPE",
        help="The shape of an input without --input: data=3x224x224.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        metavar="NUMBER",
        default=0,
        show_default=True,
        help="Of inputs that are not given.",
    ),
    click.option(
        "--range",
        "value_range",
        type=named_range,
        metavar="LOW,HIGH",
        help="Of random inputs, by default -1,1, and of images, by default 0,255.",
    ),
)
"""The options for the inputs of a command that runs a network."""


def fed(
    param: str,
    given: Given,
    shapes: Shapes,
    types: Iterable[str],
    wanted: Sequence[tuple[str, str | None]] = (),
    value_range: Range | None = None,
) -> tuple[dict[str, Array], dict[str, OpenShape]]:
    """The arrays that --input names, and the shapes of these and of --shape.

    types: the names of inputs that --type has. wanted: the blobs that --output names, with their
    files. value_range: the range of the values of images.
    """
    from ncc.compiler.feeds import read_arrays

    told = [name for name, _ in (*given, *shapes)]
    with names_first(param, [*told, *types], [name for name, _ in wanted]):
        for _, path in wanted:
            if path is not None:
                place_of(path)  # reports an error before the compilation
        feeds = read_arrays(dict(given), value_range, _compiled_inputs(param) if given else ())
    for name, shape in shapes:
        if name in feeds and not _admits(shape, feeds[name].shape):
            found = shown(feeds[name].shape)
            raise click.UsageError(
                f"--shape says {shown(shape)} of {name}, and the array for it is {found}"
            )
    return feeds, dict(shapes) | {name: array.shape for name, array in feeds.items()}


def _compiled_inputs(param: str) -> tuple[Binding, ...]:
    """The inputs of a compiled file; none of a network."""
    if not is_compiled(param):
        return ()
    from ncc.runtime.artifact import Artifact

    return Artifact.load(param, any_cpu=True).inputs


def _admits(shape: OpenShape, found: tuple[int, ...]) -> bool:
    pairs = zip(shape, found, strict=False)
    return len(shape) == len(found) and all(n in (None, extent) for n, extent in pairs)


@contextmanager
def names_first(param: str, inputs: Iterable[str], outputs: Sequence[str]) -> Iterator[None]:
    """Read files for blobs of these names. If a file cannot be read, and a name is wrong, the error
    is about the name.

    Names are not looked up before: that would read the network, which a cached model does not need.
    """
    try:
        yield
    except (InputError, OSError):
        require_names(param, inputs, outputs)
        raise


def require_names(param: str, inputs: Iterable[str], outputs: Sequence[str]) -> None:
    """Raise if a network has no blob of a name, or a compiled file no input or output of it."""
    if is_compiled(param):
        from ncc.runtime.artifact import Artifact

        artifact = Artifact.load(param, any_cpu=True)
        known = fitting = [binding.name for binding in artifact.inputs]
        made = [binding.name for binding in artifact.outputs]
        for name in outputs:
            if name not in made:
                raise InputError.unknown_name("output", name, made)
    elif is_onnx(param):
        from ncc.compiler.network_files import read_network
        from ncc.dialects.ncnn.network import Network

        known = fitting = list(
            Network.of(read_network(param, outputs=outputs or None).module).inputs
        )
    else:
        from ncc.compiler.read.build_module import input_names, output_names
        from ncc.compiler.read.read_network import read_graph

        graph = read_graph(param)
        if graph.problems:  # layers that cannot be read make blobs, too
            return
        known = input_names(graph)
        fitting = [blob.text for layer in graph.layers for blob in layer.outputs]
        if outputs:
            output_names(graph, outputs)
    for name in inputs:
        if name not in fitting:
            raise InputError.unknown_name("input", name, known)


def require_onnx(path: str) -> None:
    """Raise if a file is no ONNX model. Peers would find out only after the compilation."""
    with open(path, "rb") as file:
        other = other_kind(path, file.read(HEAD), ONNX)
    if other is not None:
        what, how = other
        raise InputError(f"{path} is {what}; here an ONNX model is wanted: {how}")
