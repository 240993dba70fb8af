"""An output that is returned as pixels: compiled code does what `to_pixels` does.

The conversion is from the order of the network to that of the pixels; mean and norm are those of
the input, and are undone.
"""

from __future__ import annotations

from collections.abc import Mapping

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_form import FORM, PixelForm
from ncc.runtime.pixel_orders import Conversion


class PixelOutput(PixelForm):
    """How values of an output become pixels; conversion, mean and norm as for `to_pixels`."""

    @property
    def channels(self) -> int:
        return Conversion.of(self.conversion).channels

    @property
    def scale(self) -> tuple[float, ...] | None:
        """What values are multiplied by, for each channel of the network."""
        return None if self.norm is None else tuple(1 / norm for norm in self.norm)


def pixel_outputs(given: Mapping[str, str | PixelOutput | None]) -> dict[str, PixelOutput]:
    """Outputs as a caller may write them: `PixelOutput`, or its text; None is left out."""
    found: dict[str, PixelOutput] = {}
    for name, value in given.items():
        if isinstance(value, str):
            found[name] = PixelOutput.of(value)
        elif isinstance(value, PixelOutput):
            found[name] = value
        elif value is not None:
            wanted = f"a PixelOutput, a text as {FORM}, or None"
            raise InputError(f"no pixels for output {name!r}", name, wanted, repr(value))
    return found
