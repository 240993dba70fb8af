"""Runs a model of images on large ones, window by window.

    whole image      windows of tile + 2 * overlap, one every `tile`; the last one ends at the edge
    |-------------------------------------|
    |=== 0 ====|                             each window gives what is `overlap` or more inside of
           |=== 1 ====|                      it, and all of it at an edge of the image
                       ...  |=== n ====|

The result is that of the whole image wherever no value depends on one that is farther than
`overlap` away. Windows are cut from the image without padding, so that a network pads at the edges
of the image as it would pad the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ncc.runtime import cpu
from ncc.runtime.artifact import Binding, extents
from ncc.runtime.errors import InputError
from ncc.runtime.extents import OPEN
from ncc.runtime.images import as_image, as_pixels, is_of_pillow, resize
from ncc.runtime.pixel_orders import Conversion
from ncc.runtime.pixels import OPAQUE, Array, Numbers, Pixels, convert, from_pixels, to_pixels
from ncc.runtime.session import Model

if TYPE_CHECKING:
    from ncc.runtime.images import Image

Progress: TypeAlias = Callable[[int, int], object]
"""Is told how many windows are done, and how many there are."""

TILE = 200
"""The side of what a window gives, where the model is for any size."""


@dataclass(frozen=True)
class Span:
    """A window along one axis, and the part of the image that it gives."""

    begin: int
    end: int
    first: int
    last: int

    def scaled(self, by: int) -> Span:
        """The same in a result that is larger."""
        return Span(self.begin * by, self.end * by, self.first * by, self.last * by)


Window: TypeAlias = tuple[Span, Span]
"""Its rows and its columns."""


def spans(extent: int, window: int, overlap: int, multiple: int = 1) -> list[Span]:
    """The windows along an axis: one every window - 2 * overlap, which begin at multiples.

    All are as long as `window`, but the last one, which may be longer by less than `multiple`, and
    the only one of a small image, which is the image.
    """
    if extent <= window:
        return [Span(0, extent, 0, extent)]
    last = (extent - window) // multiple * multiple
    begins = [*range(0, last, window - 2 * overlap), last]
    firsts = [0, *(begin + overlap for begin in begins[1:]), extent]
    ends = [begin + window for begin in begins[:-1]] + [extent]
    return [
        Span(begin, end, first, following)
        for begin, end, first, following in zip(begins, ends, firsts, firsts[1:], strict=False)
    ]


class Tiled:
    """A model of one image that runs on images of any size, and makes the same, larger.

    Call it with pixels (uint8, (height, width) or (height, width, channels)), with an image of
    Pillow, or with what the model takes itself: (channels, height, width) of float32. It returns
    the same kind. Pixels that the model takes, or returns, have the order of channels that
    `conversion` begins with. Alpha is kept: it is resized. Several threads run windows at once;
    besides image and result, memory holds one window of each.

    tile: the height and width that a window gives, 200 by default, or what suits a model of one
    size. overlap: how far a window reaches beyond that; results are seamless if this is as far as
    values of the network depend on each other. multiple: windows begin at multiples of it; a
    network that halves and doubles its image n times wants 2**n. conversion, mean, norm: as for
    `ncc.image.from_pixels`, of pixels; results are converted back by the same. threads: windows at
    once, by default as many as cores.
    """

    def __init__(
        self,
        model: Model,
        tile: int | None = None,
        overlap: int = 10,
        *,
        multiple: int = 1,
        conversion: str = "rgb",
        mean: Numbers | None = None,
        norm: Numbers | None = None,
        threads: int | None = None,
    ) -> None:
        if len(model.inputs) != 1 or len(model.outputs) != 1:
            raise InputError("tiles are for a model with one input and one output")
        self.model = model
        self.overlap = _whole("overlap", overlap, 0)
        self.multiple = _whole("multiple", multiple, 1)
        self.conversion = Conversion.of(conversion)
        self.mean, self.norm = mean, norm
        shared = max(1, cpu.cores() // model.num_threads)
        self.threads = shared if threads is None else _whole("threads", threads, 1)
        self._input: Binding = model.inputs[0]
        self._takes_pixels = self._input.dtype == "uint8"
        self._windows = tuple(self._window(axis, tile) for axis in self._image_axes())

    def _image_axes(self) -> tuple[int, int]:
        """The axes of the input that are height and width."""
        return (-3, -2) if self._takes_pixels else (-2, -1)

    def _window(self, axis: int, tile: int | None) -> tuple[int, bool]:
        """The extent of windows along an axis, and whether the model has no other."""
        shape = self._input.shape
        if shape and len(shape) not in (3, 4):
            wanted = "an input (channels, height, width)"
            raise InputError("tiles are for a model of images", None, wanted, str(self._input))
        asked = None if tile is None else _whole("tile", tile, 1)
        if not shape or shape[axis] == OPEN:
            side = TILE if asked is None else asked
            if side % self.multiple:
                raise InputError(f"tile {side} is no multiple of {self.multiple}")
            return side + 2 * self.overlap, False
        own = shape[axis]
        if own <= 2 * self.overlap or asked not in (None, own - 2 * self.overlap):
            wanted = f"tile + 2 * overlap to be {own}, the only size of the model"
            found = f"overlap {self.overlap}" + (f", tile {asked}" if asked is not None else "")
            raise InputError("windows do not fit the model", None, wanted, found)
        return own, True

    def __call__(
        self, image: Array | Image, *, out: Array | None = None, progress: Progress | None = None
    ) -> Any:
        """The result for an image. out: an array that it is written to, as numpy.memmap makes."""
        if is_of_pillow(image):
            return as_image(self._of_pixels(as_pixels(image), out, progress))
        array = np.asarray(image)
        if array.dtype == np.uint8:
            return self._of_pixels(as_pixels(array), out, progress)
        if array.ndim != 3 or self._takes_pixels:
            wanted = "uint8 (height, width, channels)"
            wanted += "" if self._takes_pixels else ", or (channels, height, width)"
            raise InputError("no image", None, wanted, f"{array.dtype} {array.shape}")

        def room(first: Array, rows: int, columns: int) -> Array:
            return _room(out, (len(first), rows, columns), first.dtype)

        def made(window: Array) -> Array:
            result = self._run(window)
            if _is_pixels(result):
                raise InputError("the model returns pixels: give it pixels")
            return result

        return self._joined(array, (1, 2), made, room, progress)

    def _of_pixels(self, pixels: Pixels, out: Pixels | None, progress: Progress | None) -> Pixels:
        """Of gray pixels or colours, either with alpha, which the network need not take."""
        order = self._order_of(pixels)
        has_alpha = order in ("rgb", "bgr") and pixels.shape[-1] == 4
        alpha = pixels[..., 3] if has_alpha else None
        conversion = self.conversion
        into, back = Conversion(order, conversion.target), Conversion(conversion.target, order)
        whole: list[Pixels] = []

        def made(window: Pixels) -> Pixels:
            if self._takes_pixels:
                fed: Array = convert(window, str(Conversion(order, conversion.source)))
            else:
                fed = from_pixels(window, str(into), self.mean, self.norm)
            result = self._run(fed)
            if _is_pixels(result):
                return convert(result, str(Conversion(conversion.source, order)))
            return to_pixels(result, str(back), self.mean, self.norm)

        def room(first: Pixels, rows: int, columns: int) -> Pixels:
            whole.append(_room(out, (rows, columns, *pixels.shape[2:]), np.dtype(np.uint8)))
            return whole[0][..., :3] if has_alpha else whole[0]

        self._joined(pixels[..., :3] if has_alpha else pixels, (0, 1), made, room, progress)
        if alpha is not None:
            rows, columns = whole[0].shape[:2]
            opaque = bool((alpha == OPAQUE).all())
            whole[0][..., 3] = OPAQUE if opaque else resize(alpha, (rows, columns), "bicubic")
        return whole[0]

    def _order_of(self, pixels: Pixels) -> str:
        """The order of the channels of an image, alpha aside if the network does not take it."""
        if pixels.ndim == 2:
            return "gray"
        source = "rgb" if self.conversion.source == "gray" else self.conversion.source
        return source[:3] if pixels.shape[-1] == 3 else source

    def _run(self, window: Array) -> Array:
        """The model's result for what it takes; smaller windows than its own are continued."""
        rows, columns = (window.shape[axis] for axis in self._image_axes())
        missing = [(0, 0)] * window.ndim
        for (own, is_only), axis in zip(self._windows, self._image_axes(), strict=True):
            if is_only:
                missing[axis] = (0, own - window.shape[axis])
        if any(behind for _, behind in missing):
            window = np.pad(window, missing, mode="edge")
        has_batch = len(self._input.shape) == 4
        result = self.model(np.ascontiguousarray(window[None] if has_batch else window))
        if result.ndim == 4 and len(result) == 1:
            result = result[0]
        is_pixels = _is_pixels(result)
        if result.ndim != 3 and not is_pixels:
            wanted = "an output (channels, height, width)"
            raise InputError("tiles are for a model of images", None, wanted, extents(result.shape))
        fed = [window.shape[axis] for axis in self._image_axes()]
        made = result.shape[:2] if is_pixels else result.shape[1:]
        by_row, by_column = (_scale(found, given) for found, given in zip(made, fed, strict=True))
        whole = (slice(rows * by_row), slice(columns * by_column))
        return result[whole] if is_pixels else result[:, *whole]

    def _joined(
        self,
        image: Array,
        axes: tuple[int, int],
        made: Callable[[Array], Array],
        room: Callable[[Array, int, int], Array],
        progress: Progress | None,
    ) -> Array:
        """The results of all windows in one array. room: makes it, behind the first window."""
        windows = list(self._spans([image.shape[axis] for axis in axes]))

        def cut(rows: slice, columns: slice) -> tuple[slice, ...]:
            places = [slice(None)] * image.ndim
            places[axes[0]], places[axes[1]] = rows, columns
            return tuple(places)

        def result_of(window: Window) -> Array:
            return made(image[cut(*(slice(span.begin, span.end) for span in window))])

        def put(window: Window, result: Array) -> None:
            scaled = [span.scaled(by) for span, by in zip(window, scales, strict=True)]
            inside = cut(*(slice(s.first - s.begin, s.last - s.begin) for s in scaled))
            whole[cut(*(slice(s.first, s.last) for s in scaled))] = result[inside]

        def run(window: Window) -> None:
            put(window, result_of(window))

        first = result_of(windows[0])
        scales = [
            _scale(first.shape[axis], span.end - span.begin)
            for axis, span in zip(axes, windows[0], strict=True)
        ]
        rows, columns = (image.shape[axis] * by for axis, by in zip(axes, scales, strict=True))
        whole = room(first, rows, columns)
        put(windows[0], first)
        _tell(progress, 1, len(windows))
        with ThreadPoolExecutor(self.threads, "ncc-tiles") as pool:
            running = [pool.submit(run, window) for window in windows[1:]]
            try:
                for done, one in enumerate(as_completed(running), 2):
                    one.result()
                    _tell(progress, done, len(windows))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        return whole

    def count(self, image: Array | Image) -> int:
        """The number of windows of an image, as `progress` is told it."""
        if is_of_pillow(image):
            return len(list(self._spans([image.height, image.width])))
        array = np.asarray(image)
        is_pixels = array.dtype == np.uint8
        return len(list(self._spans(array.shape[:2] if is_pixels else array.shape[1:])))

    def _spans(self, sides: Sequence[int]) -> Iterator[Window]:
        """The windows of an image of this height and width."""
        if 0 in sides:
            raise InputError("no image", None, "pixels", f"{sides[0]} x {sides[1]}")
        along = [
            spans(side, window, self.overlap, 1 if is_only else self.multiple)
            for side, (window, is_only) in zip(sides, self._windows, strict=True)
        ]
        yield from product(*along)


def _is_pixels(result: Array) -> bool:
    """Whether a model has returned pixels."""
    return result.dtype == np.uint8 and result.ndim in (2, 3)


tiled = Tiled
"""A function of images of any size."""


def _whole(what: str, value: object, least: int) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"no {what} of windows", None, f"{least} or more", repr(value))
    return number


def _scale(result: int, given: int) -> int:
    """By what a model makes an extent larger."""
    if result < given or result % given:
        message = "tiles are for a model that makes images as large as they are, or larger"
        raise InputError(message, None, f"a multiple of {given}", str(result))
    return result // given


def _room(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array for the result, or the one of the caller."""
    if out is None:
        return np.empty(shape, dtype)
    if out.shape != shape or out.dtype != dtype:
        found = f"{out.dtype} {out.shape}"
        raise InputError("`out` does not fit the result", None, f"{dtype} {shape}", found)
    return out


def _tell(progress: Progress | None, done: int, all: int) -> None:
    if progress is not None:
        progress(done, all)
