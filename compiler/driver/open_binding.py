"""Inputs of which something about the shape is not known before a call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ncc.dialects.shapes import DYNAMIC, OpenShape, Shape, shown
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError
from ncc.runtime.extents import Range, is_within
from ncc.runtime.pixel_input import TYPE as PIXELS

MOST_NAMED = 6
"""The number of inputs that an error names."""


@dataclass(frozen=True)
class OpenBinding(Binding):
    """An input or output of which the shape is not settled: an extent of -1 can be any.

    ranked: whether the number of extents is known; `shape` is empty where it is not. grows: whether
    nobody need say the shape, since the layers that read it do, and its extent may grow from run to
    run within one compilation. is_cache: whether it is empty where nobody feeds it. settles:
    whether its values decide shapes, so that a compilation is for one array of them.
    """

    ranked: bool = True
    grows: bool = False
    is_cache: bool = False
    settles: bool = False

    @staticmethod
    def of(
        name: str,
        shape: OpenShape | None,
        dtype: str = "float32",
        *,
        growing: bool = False,
        is_cache: bool = False,
        settles: bool = False,
        ranges: tuple[Range, ...] = (),
    ) -> OpenBinding:
        """None stands for what is not known. growing: whether an input that is open grows."""
        extents = tuple(DYNAMIC if extent is None else extent for extent in shape or ())
        grows = growing and (shape is None or None in shape)
        return OpenBinding(
            name,
            extents,
            dtype,
            ranges=ranges,
            ranked=shape is not None,
            grows=grows,
            is_cache=is_cache,
            settles=settles,
        )

    @property
    def is_open(self) -> bool:
        """Whether something about the shape is not known, and must be."""
        return not self.grows and (not self.ranked or DYNAMIC in self.shape)

    def needs_a_call(self) -> bool:
        """Whether no code can be made before a call: even the rank is open, or values decide."""
        return self.settles or (self.is_open and not self.ranked)

    @property
    def extents(self) -> str:
        return super().extents if self.ranked else "?"

    def admits(self, shape: Shape) -> bool:
        """Whether arrays of this shape can be fed."""
        if not self.ranked:
            return True
        least = 0 if self.is_cache else 1
        ranges = self.ranges or ((least, None),) * len(self.shape)
        return len(shape) == len(self.shape) and all(
            found == extent if extent != DYNAMIC else is_within(found, range)
            for found, extent, range in zip(shape, self.shape, ranges, strict=True)
        )


def are_open(inputs: Iterable[OpenBinding]) -> bool:
    """Whether shapes depend on values that only a call has."""
    return any(binding.is_open or binding.settles for binding in inputs)


def require_shapes(bindings: Iterable[Binding]) -> None:
    """Raise the InputError that names all bindings with an open shape, and two ways to say one."""
    unknown = [binding for binding in bindings if binding.is_open]
    if not unknown:
        return
    first = unknown[0]
    usual = (224, 224, 3) if first.dtype == PIXELS else (3, 224, 224, 224)
    guess = tuple(
        size if extent == DYNAMIC else extent
        for extent, size in zip(first.shape or (DYNAMIC,) * 3, usual, strict=False)
    )
    text = shown(guess)
    names = [f"{binding.name!r} ({binding.extents})" for binding in unknown[:MOST_NAMED]]
    more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
    raise InputError(
        f"open shapes must be said, of {', '.join(names)}{more}: for example by "
        f"--shape {first.name}={text}, in Python by input_shapes={{{first.name!r}: {guess}}}",
        first.name,
    )
