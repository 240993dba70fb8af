"""The known shapes of a network's inputs before a call."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from ncc.dialects.ncnn.layer import OpenShape
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.network import Network, caches
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.shapes import shown
from ncc.dialects.size import is_open
from ncc.runtime.errors import InputError


def open_shapes(
    module: ModuleOp, asked: Mapping[str, OpenShape] | None = None
) -> dict[str, OpenShape | None]:
    """The shape of every input by name: the one asked for, else the one that the file says.

    None stands for an extent that nobody says, and for a shape of which not even the rank is known.
    Raises `InputError` where a shape is asked for that no input has.
    """
    require_possible(Network.of(module), asked or {})
    stated: dict[str, OpenShape | None] = {}
    for op in Network.of(module).layers:
        if isinstance(op, InputOp):
            stated.update(dict.fromkeys(op.blob_names, op.stated))
    return {**stated, **(asked or {})}


def require_possible(network: Network, asked: Mapping[str, OpenShape]) -> None:
    """Raise `InputError` for a name that is no input, a rank that no blob has, and an extent below
    1, or below 0 for a cache.
    """
    emptied = caches(network)
    for name, shape in asked.items():
        if name not in network.inputs:
            raise InputError.unknown_name("input", name, network.inputs)
        least = 0 if name in emptied else 1
        blob = network.inputs[name].owner
        is_blob = isinstance(blob, InputOp) and not blob.TYPED
        said = f"the shape of input {name!r} cannot be {shown(shape)}"
        if is_blob and not 1 <= len(shape) <= MAX_RANK:
            raise InputError(said, name, f"1 to {MAX_RANK} extents", str(len(shape)))
        told = [extent for extent in shape if extent is not None and not is_open(extent)]
        if any(extent < least for extent in told):
            raise InputError(said, name)


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
