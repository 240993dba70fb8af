"""What a version for the shapes of a call may leave open, and the hints that it is compiled for.

    called with 1 x 3 x 20 x 30     ? x 3 x ? x ?, then 1 x 3 x ? x ?; hints 1 x 3 x 84 x 94

The first of these shapes that compiles is the version's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ncc.compiler.driver.open_binding import OpenBinding
from ncc.dialects.shapes import OpenShape, Shape
from ncc.runtime.pixel_form import TYPE as PIXELS

Shapes: TypeAlias = Mapping[str, Shape]

SMALL = 64
"""An extent below this has a hint that is larger by this."""

_CLOSED = -1, 0
"""Axes of inputs that layers may need the numbers of: the last one, as of rows; the first one."""


def candidates(bindings: Sequence[OpenBinding], shapes: Shapes) -> Iterator[dict[str, OpenShape]]:
    """The shapes that a version may be for, with None for open extents, the most open ones first.

    An open batch comes first: where samples are computed apart, its code is that of one sample.
    Where they are not, a batch of one stays one: layers of ncnn have no batch, and are faster.
    Where not even a rank is said, an image has the channels of the call, and layers may need the
    numbers of another axis. Extents of 1 may have to stay 1, so that they are known to broadcast;
    beside caches they come first, for a decoder reads most tokens one by one.
    """
    fed = [binding for binding in bindings if not binding.implied]
    most_open = {b.name: _opened(b, shapes[b.name]) for b in fed}
    with_ones = {
        b.name: most_open[b.name] if b.is_cache else _with_ones(most_open[b.name], shapes[b.name])
        for b in fed
    }
    tried = [with_ones, most_open] if any(b.is_cache for b in bindings) else [most_open]
    if is_one_sample(fed, shapes):
        tried.append({b.name: _with_batch(b, most_open[b.name], shapes[b.name]) for b in fed})
    for closed in _CLOSED:
        tried.append({b.name: _opened(b, shapes[b.name], closed) for b in fed})
    tried.append(with_ones)
    for place, found in enumerate(tried):
        is_open = len(fed) < len(bindings) or any(None in shape for shape in found.values())
        if is_open and found not in tried[:place]:
            yield found


def larger_hints(
    bindings: Sequence[OpenBinding], shapes: Shapes, open_shapes: Mapping[str, OpenShape]
) -> Shapes:
    """The shapes with larger extents in place of small ones that are open, but for channels of
    images and samples: code that is good for images of few pixels is slow for all others, and code
    for larger ones is nearly as good for these.

    What an extent leaves by a power of two stays, and so do differences: layers may need them. An
    extent of 1 beside other inputs may be broadcast.
    """
    fed = [binding for binding in bindings if not binding.implied]

    def hint(binding: OpenBinding, axis: int, extent: int) -> int:
        rank, pixels = len(shapes[binding.name]), binding.dtype == PIXELS
        is_side = axis > 0 or pixels or (rank < 3 and not binding.has_batch)
        is_open = open_shapes[binding.name][axis] is None
        if not (is_side and is_open) or extent >= SMALL or (extent == 1 and len(fed) > 1):
            return extent
        most = binding.ranges[axis][1] if binding.ranges else None
        return extent + SMALL if most is None else min(extent + SMALL, most)

    return {
        b.name: tuple(hint(b, axis, extent) for axis, extent in enumerate(shapes[b.name]))
        for b in fed
    }


def is_one_sample(bindings: Iterable[OpenBinding], shapes: Shapes) -> bool:
    """Whether a call has one sample for an input with an open batch."""
    return any(b.has_batch and shapes[b.name][0] == 1 for b in bindings if not b.implied)


def _with_batch(binding: OpenBinding, shape: OpenShape, of_call: Shape) -> OpenShape:
    """The shape with a batch of one, where the call has that."""
    return (1, *shape[1:]) if binding.has_batch and of_call[0] == 1 else shape


def _with_ones(shape: OpenShape, of_call: Shape) -> OpenShape:
    return tuple(1 if found == 1 else extent for extent, found in zip(shape, of_call, strict=True))


def _opened(binding: OpenBinding, shape: Shape, *closed: int) -> OpenShape:
    """The shape of a call with all extents open that are not known, but the channels of images."""
    if binding.ranked:
        return binding.open_shape
    kept = (*closed, 0) if len(shape) > 2 else closed
    opened: list[int | None] = [None] * len(shape)
    for axis in kept:
        opened[axis : axis + 1 or None] = shape[axis : axis + 1 or None]
    return tuple(opened)
