"""An input that is fed pixels as they are: compiled code does what `from_pixels` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_form import FORM, PixelForm
from ncc.runtime.pixel_orders import Conversion

Extent = TypeVar("Extent")


class PixelInput(PixelForm):
    """How pixels become the values of an input; conversion, mean and norm as for `from_pixels`."""

    @property
    def channels(self) -> int:
        return Conversion.of(self.conversion).results

    def fed(self, shape: Iterable[Extent], channels: Extent) -> tuple[Extent, ...]:
        """The shape of the pixels for one of the network, (channels, height, width). channels: how
        many the pixels have.
        """
        _, *sides = shape
        return tuple(sides) if Conversion.of(self.conversion).channels == 1 else (*sides, channels)


def pixel_inputs(given: Mapping[str, str | PixelInput]) -> dict[str, PixelInput]:
    """Inputs as a caller may write them: `PixelInput`, or its text."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputError("inputs are told by their names", None, "a dict", repr(given))
    for name, value in given.items():
        if not isinstance(value, str | PixelInput):
            wanted = f"a PixelInput, or a text as {FORM}"
            raise InputError(f"no pixels for input {name!r}", name, wanted, repr(value))
    return {
        name: PixelInput.of(value) if isinstance(value, str) else value
        for name, value in given.items()
    }
