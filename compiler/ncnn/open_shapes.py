"""The known shapes of a network's inputs before a call."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from ncc.dialects.ncnn.layer import OpenShape
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.runtime.errors import InputError


def open_shapes(
    module: ModuleOp, asked: Mapping[str, OpenShape] | None = None
) -> dict[str, OpenShape | None]:
    """The shape of every input by name: the one asked for, else the one that the file says.

    None stands for an extent that nobody says, and for a shape of which not even the rank is known.
    Raises `InputError` where a shape is asked for a name that is no input.
    """
    stated: dict[str, OpenShape | None] = {}
    for op in Network.of(module).layers:
        if isinstance(op, InputOp):
            stated.update(dict.fromkeys(op.blob_names, op.stated))
    for name in asked or {}:
        if name not in stated:
            raise InputError.unknown_name("input", name, stated)
    return {**stated, **(asked or {})}


def require_ranks(shapes: Mapping[str, OpenShape | None]) -> None:
    """Raise the InputError that names all inputs of which nobody says how many axes they have."""
    unknown = [name for name, shape in shapes.items() if shape is None]
    if unknown:
        first, several = unknown[0], "s" if len(unknown) > 1 else ""
        raise InputError(
            f"the file does not say how many axes input{several} "
            f"{', '.join(map(repr, unknown))} {'have' if several else 'has'}: for example, "
            f"--shape {first}=3x224x224 is for one size, and --shape '{first}=3x?x?' for all; "
            f"in Python, input_shapes={{{first!r}: (3, 224, 224)}}, or (3, None, None)",
            first,
        )
