"""Conversions of operators that move elements, and of softmax, which has an axis as they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, converts, number_of, source_of_views
from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import ParamValue, Shape
from ncc.dialects.ncnn.movement.channels import (
    BLOCK_INNER,
    BLOCK_OUTER,
    PixelShuffleOp,
    ReorgOp,
    ShuffleChannelOp,
)
from ncc.dialects.ncnn.movement.crop import CropOp
from ncc.dialects.ncnn.movement.movement import PERMUTATIONS, REST, PermuteOp
from ncc.dialects.ncnn.movement.movement import ConcatOp as ConcatLayer
from ncc.dialects.ncnn.movement.movement import SliceOp as SliceLayer
from ncc.dialects.ncnn.movement.padding import PaddingOp
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.reduction.reduction import SoftmaxOp as SoftmaxLayer
from ncc.dialects.ncnn.sampling.resample import BICUBIC, BILINEAR, InterpOp
from ncc.dialects.onnx.attribute import required
from ncc.dialects.onnx.gather import GatherOp, place_of_number
from ncc.dialects.onnx.movement import (
    ConcatOp,
    DepthToSpaceOp,
    SpaceToDepthOp,
    TransposeOp,
    ViewOperator,
)
from ncc.dialects.onnx.padding import PadOp, PadV2Op
from ncc.dialects.onnx.resize import ResizeOp
from ncc.dialects.onnx.slices import SliceOp, SliceV1Op, SplitOp, SplitV2Op, SplitV13Op
from ncc.dialects.onnx.softmax import SoftmaxOp, SoftmaxV1Op
from ncc.dialects.size import NeedsNumbers, are_equal, is_open

IMAGE_RANK = 3


@converts(TransposeOp)
def transpose(op: TransposeOp, to: Conversion) -> SSAValue | None:
    """A permutation of the axes whose extent is not 1, or a shuffle of an image's channels."""
    shuffled = _shuffled(op, to)
    if shuffled is not None:
        return shuffled
    x = op.operands[0]
    extents = shape(x)
    kept = [axis for axis in op.order(len(extents)) if extents[axis] != 1]
    here = sorted(kept)
    blob: Shape = tuple(extents[axis] for axis in here) or (1,)
    if len(blob) > MAX_RANK:
        return None
    order = tuple(here.index(axis) for axis in kept)
    if order == tuple(range(len(order))):
        return to.view(x, shape(op.results[0]))
    return permuted(to, to.view(x, blob), order)


def _shuffled(op: TransposeOp, to: Conversion) -> SSAValue | None:
    """Groups of the channels of an image change places with the channels of a group.

    Both neighbours of the transposition say the shape of the image, so it is an image that moves.
    """
    extents = shape(op.operands[0])
    front = len(extents) - IMAGE_RANK - 1
    inner = tuple(range(front + 2, len(extents)))
    if front < 0 or any(extent != 1 for extent in extents[:front]):
        return None
    if tuple(op.order(len(extents))) != (*range(front), front + 1, front, *inner):
        return None
    groups, size, *rest = extents[front:]
    image = (groups * size, *rest)
    readers = [use.operation for use in op.results[0].uses]
    if is_open(groups, size) or not all(isinstance(one, ViewOperator) for one in readers):
        return None
    around = [source_of_views(op.operands[0]), *(one.results[0] for one in readers)]
    if any(not are_equal(without_batch(shape(value)), image) for value in around):
        return None
    made = to.layer(ShuffleChannelOp, [to.view(op.operands[0], image)], group=groups)
    return to.view(made, shape(op.results[0]))


def permuted(to: Conversion, x: SSAValue, order: Sequence[int]) -> SSAValue | None:
    """A blob with its axes in another order."""
    names = EXTENT_NAMES[len(order)]
    wanted = "".join(names[axis] for axis in reversed(order))
    orders = ["".join(one) for one in PERMUTATIONS[len(order)]]
    if wanted not in orders:
        return None
    return to.layer(PermuteOp, [x], order_type=orders.index(wanted))


@converts(DepthToSpaceOp, SpaceToDepthOp)
def blocks(op: DepthToSpaceOp | SpaceToDepthOp, to: Conversion) -> SSAValue | None:
    """Of one image. The channel counts faster in DCR, the place in the block in CRD."""
    if shape(op.operands[0])[0] != 1:
        return None
    spreads = isinstance(op, DepthToSpaceOp)
    layer, name = (PixelShuffleOp, "upscale_factor") if spreads else (ReorgOp, "stride")
    params = {name: required(op.blocksize, "blocksize")}
    mode = BLOCK_OUTER if op.mode == "DCR" else BLOCK_INNER
    return to.layer(layer, [to.blob(op.operands[0])], **params, mode=mode)


def _front(extents: Shape, axis: int) -> int:
    """The axes in front that a blob leaves out: a batch of 1, where it is not the one at work."""
    return 1 if axis > 0 and extents[0] == 1 else 0


@converts(ConcatOp)
def concat(op: ConcatOp, to: Conversion) -> SSAValue | None:
    """Blobs one after the other: one axis before, one axis behind."""
    axis = op.along(shape(op.operands[0]))
    if len(op.operands) == 1:
        return op.operands[0]
    shapes = [shape(value) for value in op.operands]
    front = _front(shapes[0], axis)
    blobs = [one[front:] for one in shapes]
    if len(blobs[0]) > MAX_RANK:
        return None
    operands = [to.view(value, one) for value, one in zip(op.operands, blobs, strict=True)]
    return to.layer(ConcatLayer, operands, axis=axis - front)


@converts(SoftmaxOp, SoftmaxV1Op)
def softmax(op: SoftmaxOp, to: Conversion) -> SSAValue | None:
    """Parts of a whole along one axis."""
    x = op.operands[0]
    extents, region = shape(x), op.region(shape(x))
    if len(region) != 1 or not extents:
        return None
    front = _front(extents, region[0])
    if len(extents) - front > MAX_RANK:
        return None
    blob = to.view(x, extents[front:])
    return to.layer(SoftmaxLayer, [blob], axis=region[0] - front, fixbug0=1)


@converts(SplitOp, SplitV13Op, SplitV2Op)
def split(op: SplitOp | SplitV2Op, to: Conversion) -> Sequence[SSAValue] | None:
    """Parts along one axis."""
    x = op.operands[0]
    axis, sizes = op.parts(shape(x))
    front = _front(shape(x), axis)
    blob = shape(x)[front:]
    if len(blob) > MAX_RANK or any(size < 1 for size in sizes):
        return None
    parts = tuple(sizes)
    return to.layers(len(parts), SliceLayer, [to.view(x, blob)], slices=parts, axis=axis - front)


@converts(SliceOp, SliceV1Op)
def slice_(op: SliceOp | SliceV1Op, to: Conversion) -> SSAValue | None:
    """A box of one sample, whose elements are neighbours."""
    x, slices = op.operands[0], op.slices(shape(op.operands[0]))
    if all(one == (0, n, 1) for n, one in zip(shape(x), slices, strict=True)):
        return x
    box = [(n, *one) for n, one in zip(shape(x), slices, strict=True) if n != 1]
    if len(box) > MAX_RANK or any(step != 1 for *_, step in box):
        return None
    cut = [k for k, (n, _, size, _) in enumerate(box) if size != n]
    limits = [bounds(start, size, n) for n, start, size, _ in (box[k] for k in cut)]
    starts, ends = zip(*limits, strict=True) if limits else ((), ())
    blob = to.view(x, tuple(n for n, *_ in box))
    return to.layer(CropOp, [blob], starts=starts, ends=ends, axes=tuple(cut))


@converts(GatherOp)
def gather(op: GatherOp, to: Conversion) -> SSAValue | None:
    """One slice, at a place that is a constant."""
    x, index = op.operands[0], number_of(op.operands[1])
    extents = shape(x)
    axis = op.axis % len(extents)
    front = _front(extents, axis)
    if index is None or len(extents) - front > MAX_RANK:
        return None
    start, end = bounds(place_of_number(int(index), extents[axis]), 1, extents[axis])
    blob = to.view(x, extents[front:])
    return to.layer(CropOp, [blob], starts=(start,), ends=(end,), axes=(axis - front,))


@converts(PadOp, PadV2Op)
def pad(op: PadOp | PadV2Op, to: Conversion) -> SSAValue | None:
    """Borders of the axes that ncnn pads, of one value."""
    x, value = op.operands[0], op.filled_with()
    borders, extents = op.borders(shape(x)), shape(x)
    front = 1 if len(extents) > 1 and extents[0] == 1 and borders[0] == (0, 0) else 0
    around = borders[front:]
    cuts = any(n < 0 for pair in around for n in pair)
    if value is None or op.mode != "constant" or not 1 <= len(around) <= 3 or cuts:
        return None
    names = (("front", "behind"), ("top", "bottom"), ("left", "right"))[-len(around) :]
    params: dict[str, ParamValue] = {"value": float(value)}
    for (low, high), pair in zip(names, around, strict=True):
        params[low], params[high] = pair
    return to.layer(PaddingOp, [to.view(x, extents[front:])], **params)


@converts(ResizeOp)
def resize(op: ResizeOp, to: Conversion) -> SSAValue | None:
    """An image at another size, where ncnn looks at the same pixels."""
    x, result = op.operands[0], shape(op.results[0])
    extents = shape(x)
    if len(extents) != 4 or extents[0] != 1 or extents[:2] != result[:2]:
        return None
    if is_open(*extents, *result):
        return _open_resize(op, to)
    params: dict[str, ParamValue] = {"output_height": result[2], "output_width": result[3]}
    way = op.coordinate_transformation_mode
    if op.mode == "nearest":
        params["resize_type"] = 1
    elif op.mode in _ways(to) and way in ("half_pixel", "align_corners"):
        params |= {"resize_type": _ways(to)[op.mode], "align_corner": int(way == "align_corners")}
    else:
        return None
    made = InterpOp.make([], params)
    samplings = op.samplings(extents)
    for axis, sweep in made.sweeps(extents[1:]).items():
        one = samplings[axis + 1]
        elements, weights = sweep.taps(int(made.resize_type))
        seen = np.zeros((result[axis + 1], extents[axis + 1]))
        np.add.at(seen, (np.arange(len(one.places))[:, None], one.places), one.weights)
        shown = np.zeros_like(seen)
        np.add.at(shown, (np.arange(result[axis + 1])[None], elements), weights)
        if not np.allclose(seen, shown, rtol=0, atol=1e-6):
            return None
    return to.layer(InterpOp, [to.blob(x)], **params)


def _ways(to: Conversion) -> Mapping[str, int]:
    """Kinds of Interp that weigh pixels: code has kernels of its own for a cubic Resize."""
    return {"linear": BILINEAR, "cubic": BICUBIC} if to.for_files else {"linear": BILINEAR}


def _open_resize(op: ResizeOp, to: Conversion) -> SSAValue | None:
    """The same of an open size, by scales; in files also to a size that ncnn computes."""
    x, times = op.operands[0], op.repeats(shape(op.operands[0]))
    way, ways = op.coordinate_transformation_mode, _ways(to)
    corners = to.for_files and way == "align_corners"
    params: dict[str, ParamValue] = {}
    if times is not None:
        params["resize_type"] = 1
    elif op.mode in ways and _is_plain(op) and (way == "half_pixel" or corners):
        params |= {"resize_type": ways[op.mode], "align_corner": int(corners)}
    else:
        return None
    if to.for_files and op.by_sizes and not _is_multiple(shape(x), shape(op.results[0])):
        wanted = to.expressions([to.blob(x)])
        params["size_expr"] = wanted.text(shape(op.results[0])[:1:-1])
        return to.layer(InterpOp, wanted.operands, **params)
    scales = op.asked(shape(x))[1]
    params |= {"height_scale": scales[2], "width_scale": scales[3]}
    made = to.layer(InterpOp, [to.blob(x)], **params)
    return made if shape(made) == shape(op.results[0])[1:] else None


def _is_plain(op: ResizeOp) -> bool:
    """Whether weights are those of ncnn at every size."""
    coefficient = op.mode == "linear" or op.cubic_coeff_a == -0.75
    return coefficient and not op.antialias and not op.exclude_outside


def _is_multiple(x: Shape, result: Shape) -> bool:
    """Whether each extent of a result is so many times what it is made of, at every size."""
    pairs = zip(x, result, strict=True)
    return all(out == n or (not is_open(out // n) and out == out // n * n) for n, out in pairs)


def bounds(start: int, count: int, extent: int) -> tuple[int, int]:
    """The start and the end of a box along an axis. What is open counts from the end: of that, an
    end of 0 is the extent.
    """
    end = start + count
    if is_open(start):
        start = start - extent
    if is_open(end):
        end = end - extent
    if REST in (start, end):
        raise NeedsNumbers(f"{REST} is no number to ncnn")
    return start, end
