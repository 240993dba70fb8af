"""Inputs of which something about the shape is not known before a call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ncc.dialects.shapes import DYNAMIC, OpenShape, Shape, shown
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError
from ncc.runtime.extents import Range, is_within
from ncc.runtime.pixel_form import TYPE as PIXELS

MOST_NAMED = 6
"""The number of inputs that an error names."""


@dataclass(frozen=True)
class OpenBinding(Binding):
    """An input or output of which the shape is not settled: an extent of -1 can be any.

    ranked: whether the number of extents is known; `shape` is empty where it is not. implied:
    whether nobody need say the shape, since the layers that read it do. is_cache: whether it is
    empty where nobody feeds it. settles: whether its values decide shapes, so that a compilation is
    for one array of them. has_batch: whether the first extent is open and counts samples, as in
    ONNX.
    """

    ranked: bool = True
    implied: bool = False
    is_cache: bool = False
    settles: bool = False
    has_batch: bool = False

    @staticmethod
    def of(
        name: str,
        shape: OpenShape | None,
        dtype: str = "float32",
        *,
        implied: bool = False,
        is_cache: bool = False,
        settles: bool = False,
        has_batch: bool = False,
        ranges: tuple[Range, ...] = (),
    ) -> OpenBinding:
        """None stands for what is not known. implied: whether layers tell a shape that is open."""
        extents = tuple(DYNAMIC if extent is None else extent for extent in shape or ())
        return OpenBinding(
            name,
            extents,
            dtype,
            ranges=ranges,
            ranked=shape is not None,
            implied=implied and (shape is None or None in shape),
            is_cache=is_cache,
            settles=settles,
            has_batch=has_batch and len(extents) > 1 and extents[0] == DYNAMIC,
        )

    @property
    def is_open(self) -> bool:
        """Whether something about the shape is not known, and must be."""
        return not self.implied and (not self.ranked or DYNAMIC in self.shape)

    def needs_a_call(self) -> bool:
        """Whether no code can be made before a call: even the rank is open, or values decide."""
        return self.settles or (self.is_open and not self.ranked)

    @property
    def open_shape(self) -> OpenShape:
        """The shape with None for what is not known."""
        return tuple(None if extent == DYNAMIC else extent for extent in self.shape)

    @property
    def extents(self) -> str:
        return super().extents if self.ranked else "?"

    def admits(self, shape: Shape) -> bool:
        """Whether arrays of this shape can be fed. Only a cache may be empty."""
        least = 0 if self.is_cache else 1
        if not self.ranked:
            return min(shape, default=least) >= least
        ranges = self.ranges or ((least, None),) * len(self.shape)
        return len(shape) == len(self.shape) and all(
            found == extent if extent != DYNAMIC else is_within(found, range)
            for found, extent, range in zip(shape, self.shape, ranges, strict=True)
        )


def are_open(inputs: Iterable[OpenBinding]) -> bool:
    """Whether shapes depend on values that only a call has."""
    return any(binding.is_open or binding.settles for binding in inputs)


def guessed(shape: OpenShape, channels_last: bool = False) -> Shape:
    """An example of a shape: an image in colours where that is possible."""
    image = (1, 224, 224, 3) if channels_last else (1, 3, 224, 224)
    usual = image[-len(shape) :] if 2 < len(shape) <= 4 else (224,) * len(shape)
    return tuple(n if m is None else m for m, n in zip(shape, usual, strict=True))


def require_shapes(bindings: Iterable[Binding]) -> None:
    """Raise the InputError that names all bindings with an open shape, and two ways to say one."""
    unknown = [binding for binding in bindings if binding.is_open]
    if not unknown:
        return
    first = unknown[0]
    shape = tuple(None if n == DYNAMIC else n for n in first.shape or (DYNAMIC,) * 3)
    usual = guessed(shape, channels_last=first.dtype == PIXELS)
    guess = (1, *usual[1:]) if isinstance(first, OpenBinding) and first.has_batch else usual
    text = shown(guess)
    names = [f"{binding.name!r} ({binding.extents})" for binding in unknown[:MOST_NAMED]]
    more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
    raise InputError(
        f"open shapes must be said, of {', '.join(names)}{more}: for example by "
        f"--shape {first.name}={text}, in Python by input_shapes={{{first.name!r}: {guess}}}",
        first.name,
    )
