"""How pixels and the values of a network become one another, as a text and as an object.

    uint8,hwc,bgr2rgb,mean=123.675,116.28,103.53,norm=0.017

The order of channels is "rgb" unless said; one mean, or norm, is for all channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ncc.runtime.errors import InputError

if TYPE_CHECKING:
    from ncc.runtime.pixels import Numbers

TYPE, LAYOUT = "uint8", "hwc"
"""What arrays of pixels are: the type of elements, and the order of axes."""

FORM = "uint8,hwc,bgr2rgb,mean=1,2,3,norm=0.1"


@dataclass(frozen=True)
class PixelForm:
    """A conversion of channels, with mean and norm for those of the network."""

    conversion: str
    mean: tuple[float, ...] | None
    norm: tuple[float, ...] | None

    def __init__(
        self, conversion: str = "rgb", mean: Numbers | None = None, norm: Numbers | None = None
    ) -> None:
        from ncc.runtime.pixels import Normalization  # of numpy, which may not be needed

        object.__setattr__(self, "conversion", conversion)
        known = Normalization.of(mean, norm, self.channels)
        object.__setattr__(self, "mean", known.mean)
        object.__setattr__(self, "norm", known.norm)

    @property
    def channels(self) -> int:
        """Of the network."""
        raise NotImplementedError

    @classmethod
    def of(cls, text: str) -> Self:
        """The one that a text describes. Raises InputError for any other text."""
        return cls(*_described(text))


def _described(text: str) -> tuple[str, list[float] | None, list[float] | None]:
    """Conversion, mean and norm of a text. Raises InputError where it says something else."""
    conversions: list[str] = []
    numbers: dict[str, list[float]] = {}
    name = ""
    for word in text.split(","):
        key, equals, value = word.partition("=")
        if equals:
            if key not in ("mean", "norm") or key in numbers:
                raise _no_pixels(text)
            name, word, numbers[key] = key, value, []
        if name and _is_number(word):
            numbers[name].append(float(word))
        elif word not in (TYPE, LAYOUT):
            conversions.append(word)
    if len(conversions) > 1:
        raise _no_pixels(text)
    (conversion,) = conversions or ["rgb"]
    return conversion, numbers.get("mean"), numbers.get("norm")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _no_pixels(text: str) -> InputError:
    return InputError("no description of pixels", None, f"a text as {FORM}", repr(text))
