"""The options of a compilation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import index
from typing import TypeVar

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.target import Target
from ncc.dialects.shapes import OpenShape
from ncc.runtime.errors import InputError

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


@dataclass(frozen=True)
class Options:
    """The choices of one compilation, checked.

    input_shapes: shapes in numpy order by blob name, for inputs whose shape the file leaves open
    or that shall have another one; None stands for an extent that is settled later. input_types:
    element types by blob name, for inputs that have others than the layers want that read it.
    outputs: blobs to compute; None stands for those that no layer reads. random_weights: a seed to
    make weights up from, instead of a .bin file. timestamps: one more output tells when each step
    was done. tuned: use the schedules that `ncc tune` has kept for this machine.
    """

    opt_level: int = 2
    num_threads: int = 1
    target: Target = field(default_factory=lambda: Target.of("host", tiles=False))
    precision: str = "fp32"
    input_shapes: Mapping[str, OpenShape] = field(default_factory=dict)
    input_types: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] | None = None
    random_weights: int | None = None
    timestamps: bool = False
    tuned: bool = True

    @property
    def tiles(self) -> bool:
        """Whether contractions go to matrix tiles."""
        return self.target.tiles and self.opt_level >= TILES_LEVEL

    def __post_init__(self) -> None:
        if self.opt_level not in OPT_LEVELS:
            raise InputError("no such optimization level", None, "0 to 3", repr(self.opt_level))
        if self.num_threads < 1:
            raise InputError("no such number of threads", None, "1 or more", repr(self.num_threads))
        if self.precision not in PRECISIONS:
            raise Unsupported(f"precision {self.precision!r}", nearest=", ".join(PRECISIONS))
        for name, shape in self.input_shapes.items():
            _require_shape(name, shape)
        if not self.input_types:
            return
        from ncc.dialects.element import BLOB_ELEMENTS  # of the IR, which may not be needed

        for name, element in self.input_types.items():
            if element not in BLOB_ELEMENTS:
                wanted = ", ".join(BLOB_ELEMENTS)
                raise InputError(f"no element type for input {name!r}", name, wanted, repr(element))

    @staticmethod
    def of(
        *,
        opt_level: int = 2,
        num_threads: int = 1,
        target: str = "host",
        precision: str = "fp32",
        input_shapes: Mapping[str, Iterable[int | None]] | None = None,
        input_types: Mapping[str, str] | None = None,
        outputs: Iterable[str] | None = None,
        random_weights: int | None = None,
        timestamps: bool = False,
        tuned: bool = True,
    ) -> Options:
        """Options as a caller writes them: the target by name, shapes and names in any sequence.

        Raises InputError for values out of range, Unsupported for an unknown target or precision.
        """
        types = _by_name("input_types", input_types)
        level = _whole("no such optimization level", opt_level, "0 to 3")
        return Options(
            opt_level=level,
            num_threads=_whole("no such number of threads", num_threads, "1 or more"),
            target=Target.of(target, tiles=level >= TILES_LEVEL),
            precision=precision,
            input_shapes=shapes_by_name(input_shapes),
            input_types=types,
            outputs=None if outputs is None else names_of("outputs", outputs),
            random_weights=None if random_weights is None else _seed(random_weights),
            timestamps=timestamps,
            tuned=tuned,
        )


def _whole(what: str, value: object, wanted: str) -> int:
    """A number as a caller may write it: numpy's as well, if it is whole."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(what, None, wanted, repr(value)) from None


def _seed(value: object) -> int:
    wanted = "0 or more"
    seed = _whole("no seed for random_weights", value, wanted)
    if seed < 0:
        raise InputError("no seed for random_weights", None, wanted, repr(value))
    return seed


def names_of(what: str, names: object) -> tuple[str, ...]:
    """Names as a caller may write them: a string is one."""
    if isinstance(names, str):
        return (names,)
    several = tuple(names) if isinstance(names, Iterable) else (names,)
    if not all(isinstance(name, str) for name in several):
        raise InputError(f"{what} are asked for by their names", None, "strings", repr(names))
    return several


V = TypeVar("V")


def _by_name(what: str, given: Mapping[str, V] | None) -> dict[str, V]:
    by_name = isinstance(given, Mapping) and all(isinstance(name, str) for name in given)
    if given is not None and not by_name:
        wanted = "a dict with strings as keys"
        raise InputError(f"{what} are told by the names of inputs", None, wanted, repr(given))
    return dict(given or {})


def shapes_by_name(given: Mapping[str, Iterable[int | None]] | None) -> dict[str, OpenShape]:
    """Shapes of inputs as a caller may write them: a tuple, a list, numpy's integers."""
    by_name = _by_name("input_shapes", given)
    shapes = {name: _asked(name, shape) for name, shape in by_name.items()}
    for name, shape in shapes.items():
        _require_shape(name, shape)
    return shapes


def _asked(name: str, shape: Iterable[int | None]) -> OpenShape:
    try:
        return tuple(None if extent is None else index(extent) for extent in shape)
    except TypeError:
        raise _no_shape(name, shape) from None


def _require_shape(name: str, shape: OpenShape) -> None:
    if not 1 <= len(shape) <= 4 or any(n is not None and n < 0 for n in shape):
        raise _no_shape(name, shape)


def _no_shape(name: str, shape: object) -> InputError:
    wanted = "1 to 4 positive extents"
    return InputError(f"no shape for input {name!r}", name, wanted, repr(shape))
