"""An output that is returned as pixels: compiled code does what `to_pixels` does.

    uint8,hwc,rgb2bgr,norm=0.00392157

The conversion is from the order of the network to that of the pixels, "rgb" unless said; mean and
norm are those of the input, and are undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_input import FORM, described
from ncc.runtime.pixel_orders import Conversion

if TYPE_CHECKING:
    from ncc.runtime.pixels import Numbers


@dataclass(frozen=True)
class PixelOutput:
    """How values of an output become pixels; conversion, mean and norm as for `to_pixels`."""

    conversion: str
    mean: tuple[float, ...] | None
    norm: tuple[float, ...] | None

    def __init__(
        self, conversion: str = "rgb", mean: Numbers | None = None, norm: Numbers | None = None
    ) -> None:
        from ncc.runtime.pixels import Normalization  # of numpy, which may not be needed

        known = Normalization.of(mean, norm, Conversion.of(conversion).channels)
        object.__setattr__(self, "conversion", conversion)
        object.__setattr__(self, "mean", known.mean)
        object.__setattr__(self, "norm", known.norm)

    @property
    def scale(self) -> tuple[float, ...] | None:
        """What values are multiplied by, for each channel of the network."""
        return None if self.norm is None else tuple(1 / norm for norm in self.norm)

    @staticmethod
    def of(text: str) -> PixelOutput:
        """The one that a text describes. Raises InputError for any other text."""
        return PixelOutput(*described(text))


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
