"""The ranges of extents of inputs before layers narrow them.

    --shape image=3x64..1024x?            3, 64..1024, 1..
    past -> onnx.Concat(past, keys)       1, 8, 0.., 64       along axis 2

Extents begin at 1, since most layers need an element. But decoders join the past to what is new,
and have no past before the first token: an axis along which an input is only joined to others may
be empty, as are the rows of caches. No other axis has a range from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.options import Options
from ncc.dialects.ncnn.network import CACHE_ROWS, Network, caches
from ncc.dialects.onnx.movement import ConcatOp
from ncc.dialects.onnx.plumbing import ShapeAsked
from ncc.runtime.errors import InputError
from ncc.runtime.extents import ANY, Range, shown_range

MAYBE_EMPTY: Range = (0, None)


def ranges_of(module: ModuleOp, options: Options) -> Mapping[str, tuple[Range, ...]]:
    """The range of each axis of the inputs, where something is known."""
    network = Network.of(module)
    known, emptied = open_shapes(module, options.input_shapes), caches(network)
    found: dict[str, tuple[Range, ...]] = {}
    for name, value in network.inputs.items():
        shape = known[name] or ()
        is_cache = name in emptied
        joined = (
            [axis == CACHE_ROWS for axis in range(len(shape))]
            if is_cache
            else _is_joined(value, len(shape))
        )
        empty = [extent is None and one for extent, one in zip(shape, joined, strict=True)]
        if name in options.ranges:
            found[name] = options.ranges[name]
            _require_elements(name, found[name], joined)
        elif any(empty) and not is_cache:
            found[name] = tuple(MAYBE_EMPTY if one else ANY for one in empty)
    return found


def _require_elements(name: str, ranges: Sequence[Range], joined: Sequence[bool]) -> None:
    """Raise InputError for a range from 0 along an axis that may not be empty."""
    for axis, ((least, most), may) in enumerate(zip(ranges, joined, strict=False)):
        if least == 0 and not may:
            raise InputError(
                f"input {name!r} is not only joined to others there, so that it may not be empty",
                name,
                f"a range from 1 along axis {axis}",
                shown_range((least, most)),
            )


def _is_joined(value: SSAValue, rank: int) -> list[bool]:
    """Whether a value is only joined to others along each axis, or asked for its extent."""
    joined = [True] * rank
    for use in value.uses:
        reader = use.operation
        if isinstance(reader, ConcatOp) and len(reader.operands) > 1:
            along = reader.along((1,) * rank)
            joined = [one and axis == along for axis, one in enumerate(joined)]
        elif not isinstance(reader, ShapeAsked):
            return [False] * rank
    return joined
