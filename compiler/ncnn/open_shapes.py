"""The known shapes of a network's inputs before a call."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from ncc.dialects.ncnn.layer import OpenShape
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.network import Network, caches
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.shapes import shown
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
        if any(extent is not None and extent < least for extent in shape):
            raise InputError(said, name)
