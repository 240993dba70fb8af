"""The options of a compilation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, TypedDict, TypeGuard, TypeVar

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.target import Target
from ncc.dialects.shapes import OpenShape
from ncc.runtime.errors import InputError
from ncc.runtime.extents import ANY, LARGEST, Range, Shape
from ncc.runtime.pixel_input import PixelInput, pixel_inputs
from ncc.runtime.pixel_orders import Conversion
from ncc.runtime.pixel_output import PixelOutput, pixel_outputs

OPT_LEVELS = {
    0: "no rewrite at all, every layer a kernel of its own",
    1: "only rewrites that change no value",
    2: "fp32 arithmetic in another order: folding, fusion, Winograd",
    3: "as 2, and bf16x3 on matrix tiles where the target has them",
}
"""The promise of each optimization level."""

TILES_LEVEL = 3
"""The level that uses matrix tiles."""

PRECISIONS = ("fp32",)
"""Number formats of weights and arithmetic; another than fp32 is never chosen silently."""


class Compiling(TypedDict, total=False):
    """The options of `ncc.compile`, for functions that hand them on."""

    opt_level: int
    num_threads: int
    target: str
    precision: str
    input_shapes: Mapping[str, Sequence[int | None | Range]] | None
    input_types: Mapping[str, str] | None
    inputs: Mapping[str, str | PixelInput] | None
    outputs: Sequence[str] | Mapping[str, str | PixelOutput | None] | None
    random_weights: int | None
    tuned: bool


@dataclass(frozen=True)
class Options:
    """The choices of one compilation, checked.

    input_shapes: shapes in numpy order by blob name, for inputs whose shape the file leaves open
    or that shall have another one; None stands for an extent that is settled later. ranges: the
    least and the most of each extent, by blob name, where it is open and has limits. hints: the
    shapes for which the costs of open ones are compared, by blob name. ahead: whether code for all
    shapes is made before any call. input_types: element types by blob name, for inputs that have
    others than the layers want that read it. inputs: those that are fed pixels; their shapes
    above are those of the pixels.
    outputs: blobs to compute; None stands for those that no layer reads. pixel_outputs: those that
    are returned as pixels. random_weights: a seed to make weights up from, instead of a .bin file.
    timestamps: one more output tells when each step was done. trace: one more output tells which
    thread did what, and when. tuned: use the schedules that `ncc tune` has kept for this machine.
    by_sample: whether a batch may be run sample by sample. verify_each: whether the IR is verified
    after each pass.
    """

    opt_level: int = 2
    num_threads: int = 1
    target: Target = field(default_factory=lambda: Target.of("host", tiles=False))
    precision: str = "fp32"
    input_shapes: Mapping[str, OpenShape] = field(default_factory=dict)
    ranges: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    hints: Mapping[str, Shape] = field(default_factory=dict)
    ahead: bool = False
    input_types: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, PixelInput] = field(default_factory=dict)
    outputs: tuple[str, ...] | None = None
    pixel_outputs: Mapping[str, PixelOutput] = field(default_factory=dict)
    random_weights: int | None = None
    timestamps: bool = False
    trace: bool = False
    tuned: bool = True
    by_sample: bool = True
    verify_each: bool = False

    @property
    def tiles(self) -> bool:
        """Whether contractions go to matrix tiles."""
        return self.target.tiles and self.opt_level >= TILES_LEVEL

    def __post_init__(self) -> None:
        if whole_of(*_LEVEL, self.opt_level) not in OPT_LEVELS:
            raise InputError(*_LEVEL, repr(self.opt_level))
        at_least(1, *_THREADS, self.num_threads)
        if not isinstance(self.target, Target):
            wanted = "a Target (Options.of takes its name)"
            raise InputError("no such target", None, wanted, repr(self.target))
        if self.precision not in PRECISIONS:
            raise Unsupported(f"precision {self.precision!r}", nearest=", ".join(PRECISIONS))
        for what, shapes in (("input_shapes", self.input_shapes), ("hints", self.hints)):
            for name, shape in _by_name(what, shapes).items():
                _require_shape(name, _asked(name, shape))
        for name, ranges in _by_name("ranges", self.ranges).items():
            _require_ranges(name, ranges)
        _require_types(_by_name("input_types", self.input_types))
        pixel_inputs(self.inputs)
        pixel_outputs(_by_name("pixel_outputs", self.pixel_outputs))
        if self.outputs is not None and names_of("outputs", self.outputs) != self.outputs:
            wanted = "a tuple (Options.of takes any sequence)"
            raise InputError("no names of outputs", None, wanted, repr(self.outputs))
        if self.random_weights is not None:
            seed_of("random_weights", self.random_weights)
        for flag in ("timestamps", "trace", "tuned", "ahead", "by_sample", "verify_each"):
            flag_of(flag, getattr(self, flag))

    @staticmethod
    def of(
        *,
        opt_level: int = 2,
        num_threads: int = 1,
        target: str = "host",
        precision: str = "fp32",
        input_shapes: Mapping[str, Iterable[int | None | Range]] | None = None,
        input_types: Mapping[str, str] | None = None,
        inputs: Mapping[str, str | PixelInput] | None = None,
        outputs: Iterable[str] | Mapping[str, str | PixelOutput | None] | None = None,
        random_weights: int | None = None,
        timestamps: bool = False,
        trace: bool = False,
        tuned: bool = True,
        ahead: bool = False,
        by_sample: bool = True,
        verify_each: bool = False,
    ) -> Options:
        """Options as a caller writes them: the target by name, shapes and names in any sequence.
        inputs: those that are fed pixels; their shapes are those of the network. outputs: also by
        name, with those that are returned as pixels.

        Raises InputError for values out of range, Unsupported for an unknown target or precision.
        """
        level = whole_of(*_LEVEL, opt_level)
        pixels = {} if inputs is None else pixel_inputs(inputs)
        shapes, ranges = shapes_by_name(input_shapes), ranges_by_name(input_shapes)
        for name in pixels.keys() & shapes.keys():
            shapes[name], ranges[name] = _of_pixels(name, pixels[name], shapes[name], ranges)
        seed = None if random_weights is None else seed_of("random_weights", random_weights)
        return Options(
            opt_level=level,
            num_threads=at_least(1, *_THREADS, num_threads),
            target=Target.of(target, tiles=level >= TILES_LEVEL),
            precision=precision,
            input_shapes=shapes,
            ranges=ranges,
            ahead=ahead,
            input_types={} if input_types is None else _by_name("input_types", input_types),
            inputs=pixels,
            outputs=None if outputs is None else names_of("outputs", outputs),
            pixel_outputs=pixel_outputs(outputs) if isinstance(outputs, Mapping) else {},
            random_weights=seed,
            timestamps=timestamps,
            trace=trace,
            tuned=tuned,
            by_sample=by_sample,
            verify_each=verify_each,
        )


_LEVEL = "no such optimization level", None, "0 to 3"
_THREADS = "no such number of threads", None, "1 or more"


def whole_of(what: str, blob: str | None, wanted: str, value: object) -> int:
    """A number as a caller may write it: numpy's as well, if it is whole.

    what, blob, wanted: of the InputError for any other value.
    """
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(what, blob, wanted, repr(value)) from None


def at_least(least: int, what: str, blob: str | None, wanted: str, value: object) -> int:
    """The same of a number that is not below the least one."""
    number = whole_of(what, blob, wanted, value)
    if number < least:
        raise InputError(what, blob, wanted, repr(value))
    return number


def seed_of(what: str, value: object) -> int:
    """A seed as a caller may write it. what: the name of the argument."""
    return at_least(0, f"no seed for {what}", None, "0 or more", value)


def flag_of(what: str, value: object) -> bool:
    """A flag as a caller may write it: the text "no" is none. what: the name of the argument."""
    if not isinstance(value, int):
        raise InputError(f"{what} is on or off", None, "True or False", repr(value))
    return bool(value)


def names_of(what: str, names: object) -> tuple[str, ...]:
    """Names as a caller may write them: a string is one."""
    if isinstance(names, str):
        return (names,)
    several = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str) for name in several):
        raise InputError(f"{what} are asked for by their names", None, "strings", repr(names))
    return several


def _require_types(types: Mapping[str, str]) -> None:
    if not types:
        return
    from ncc.dialects.element import BLOB_ELEMENTS  # of the IR, which may not be needed

    for name, element in types.items():
        if not isinstance(element, str) or element not in BLOB_ELEMENTS:
            wanted = ", ".join(BLOB_ELEMENTS)
            raise InputError(f"no element type for input {name!r}", name, wanted, repr(element))


V = TypeVar("V")


def _by_name(what: str, given: Mapping[str, V]) -> dict[str, V]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        wanted = "a dict with strings as keys"
        raise InputError(f"{what} are told by the names of inputs", None, wanted, repr(given))
    return dict(given)


def shapes_by_name(
    given: Mapping[str, Iterable[int | None | Range]] | None,
) -> dict[str, OpenShape]:
    """Shapes of inputs as a caller may write them: a tuple, a list, numpy's integers. An extent
    that has a range is open.
    """
    by_name = {} if given is None else _by_name("input_shapes", given)
    shapes = {name: _asked(name, shape) for name, shape in by_name.items()}
    for name, shape in shapes.items():
        _require_shape(name, shape)
    return shapes


def ranges_by_name(
    given: Mapping[str, Iterable[int | None | Range]] | None,
) -> dict[str, tuple[Range, ...]]:
    """The ranges of the extents of those of these shapes that have some."""
    shapes = {} if given is None else {name: tuple(shape) for name, shape in given.items()}
    return {
        name: tuple(_range(name, extent) if _is_range(extent) else ANY for extent in shape)
        for name, shape in shapes.items()
        if any(map(_is_range, shape))
    }


def _of_pixels(
    name: str, pixels: PixelInput, shape: OpenShape, ranges: Mapping[str, tuple[Range, ...]]
) -> tuple[OpenShape, tuple[Range, ...]]:
    """The shape and the ranges of pixels for those of the input, before which a batch of 1 may
    stand.
    """
    given = ranges.get(name, (ANY,) * len(shape))
    if len(shape) == 4 and shape[0] in (None, 1):
        shape, given = shape[1:], given[1:]
    if len(shape) != 3 or shape[0] not in (None, pixels.channels):
        said = f"the shape of input {name!r} is that of the network"
        raise InputError(said, name, f"({pixels.channels}, height, width)", str(shape))
    channels = Conversion.of(pixels.conversion).channels
    limits = pixels.fed(given, (channels, channels))
    return pixels.fed(shape, channels), limits


def _is_range(extent: object) -> TypeGuard[tuple[Any, ...] | list[Any]]:
    return isinstance(extent, tuple | list)


def _range(name: str, extent: Sequence[Any]) -> Range:
    """A range as a caller may write it."""
    try:
        least, most = extent
        found = index(least), None if most is None else index(most)
    except (TypeError, ValueError):
        raise _no_range(name, extent) from None
    _require_ranges(name, [found])
    return found


def _require_ranges(name: str, ranges: Iterable[Range]) -> None:
    for least, most in ranges:
        if least < 0 or (most is not None and most < max(least, 1)):
            raise _no_range(name, (least, most))
        _require_no_larger(name, least if most is None else most, (least, most))


def _no_range(name: str, found: object) -> InputError:
    wanted = "(least, most), the least first and 0 or more; None as the most is no limit"
    return InputError(f"no range for an extent of input {name!r}", name, wanted, repr(found))


def _asked(name: str, shape: Iterable[int | None | Range]) -> OpenShape:
    try:
        return tuple(
            None if extent is None or _is_range(extent) else index(extent)  # type: ignore[arg-type]
            for extent in shape
        )
    except TypeError:
        raise _no_shape(name, shape) from None


def _require_shape(name: str, shape: OpenShape) -> None:
    if any(n is not None and n < 0 for n in shape):
        raise _no_shape(name, shape)
    for extent in shape:
        _require_no_larger(name, extent or 0, shape)


def _require_no_larger(name: str, extent: int, found: object) -> None:
    if extent > LARGEST:
        what = f"the shape of input {name!r} is too large"
        raise InputError(what, name, f"extents up to {LARGEST:,}", str(found))


def _no_shape(name: str, shape: object) -> InputError:
    wanted = "positive extents, and None or (least, most) for open ones"
    return InputError(f"no shape for input {name!r}", name, wanted, repr(shape))
