"""Images with padding at the end, for tiles that reach beyond a result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.rewrite.insert import move_after, move_before, tensor_of
from ncc.dialects.index_notation import Builder
from ncc.dialects.size import is_never_below, largest
from ncc.dialects.structured import offsets_of, pad_sides


def padded(value: SSAValue, *extents: int) -> SSAValue:
    """`value`, padded at the end of its last axes to at least these extents: rows and columns of an
    image (channels, height, width), or columns alone.

    If the value is a pad, that pad grows, and its other readers read a slice. So does the pad that
    the value is the end of, or all of but some padding behind it.
    """
    if isinstance(part := value.owner, tensor.ExtractSliceOp) and _ends_in_padding(part):
        value = part.source
    shape = shape_of(value)
    ends = zip(shape[len(shape) - len(extents) :], extents, strict=True)
    more = [0] * (len(shape) - len(extents)) + [largest(0, least - own) for own, least in ends]
    if all(n == 0 for n in more):
        return value
    pad = value.owner
    if isinstance(pad, tensor.ExtractSliceOp) and _is_end_of_pad(pad):
        return _longer(pad, more, len(extents))
    b = Builder(Block())
    if not isinstance(pad, tensor.PadOp):
        result = b.pad(tensor_of(value), [0] * len(shape), more)
        move_after(b, value)
        return result.value
    low, high = pad_sides(pad)
    high = [n + k for n, k in zip(high, more, strict=True)]
    readers = list(value.uses)
    result = b.pad(tensor_of(pad.source), low, high, pad_value(pad))
    old = b.slice(result, [0] * len(shape), shape)
    move_before(b, pad)
    for use in readers:
        is_part = isinstance(use.operation, tensor.ExtractSliceOp)
        use.operation.operands[use.index] = result.value if is_part else old.value
    pad.detach()
    pad.erase()
    return result.value


def _is_end_of_pad(part: tensor.ExtractSliceOp) -> bool:
    """Whether a slice goes up to the end of a pad."""
    extents = zip(offsets_of(part), shape_of(part.result), shape_of(part.source), strict=True)
    return isinstance(part.source.owner, tensor.PadOp) and all(
        begin + extent == whole for begin, extent, whole in extents
    )


def _ends_in_padding(part: tensor.ExtractSliceOp) -> bool:
    """Whether a slice is the begin of a pad, with all that this surrounds."""
    pad = part.source.owner
    if not isinstance(pad, tensor.PadOp) or any(n != 0 for n in offsets_of(part)):
        return False
    ends = zip(pad_sides(pad)[0], shape_of(pad.source), shape_of(part.result), strict=True)
    return all(is_never_below(extent, low + own) for low, own, extent in ends)


def _longer(part: tensor.ExtractSliceOp, more: Sequence[int], axes: int) -> SSAValue:
    """A slice that is the end of a pad, with more of the padding along the last axes."""
    whole = [n + k for n, k in zip(shape_of(part.source), more, strict=True)]
    shape = [n + k for n, k in zip(shape_of(part.result), more, strict=True)]
    b = Builder(Block())
    pad = padded(part.source, *whole[-axes:])
    result = b.slice(tensor_of(pad), offsets_of(part), shape)
    move_after(b, part.result)
    return result.value
