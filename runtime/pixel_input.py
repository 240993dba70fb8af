"""An input that is fed pixels as they are: compiled code does what `from_pixels` does.

    uint8,hwc,bgr2rgb,mean=123.675,116.28,103.53,norm=0.017

The order of channels is "rgb" unless said; one mean, or norm, is for all channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_orders import Conversion

if TYPE_CHECKING:
    from ncc.runtime.pixels import Numbers

TYPE, LAYOUT = "uint8", "hwc"
"""What arrays of pixels are: the type of elements, and the order of axes."""

FORM = "uint8,hwc,bgr2rgb,mean=1,2,3,norm=0.1"

Extent = TypeVar("Extent")


@dataclass(frozen=True)
class PixelInput:
    """How pixels become the values of an input; conversion, mean and norm as for `from_pixels`."""

    conversion: str
    mean: tuple[float, ...] | None
    norm: tuple[float, ...] | None

    def __init__(
        self, conversion: str = "rgb", mean: Numbers | None = None, norm: Numbers | None = None
    ) -> None:
        from ncc.runtime.pixels import Normalization  # of numpy, which may not be needed

        known = Normalization.of(mean, norm, Conversion.of(conversion).results)
        object.__setattr__(self, "conversion", conversion)
        object.__setattr__(self, "mean", known.mean)
        object.__setattr__(self, "norm", known.norm)

    @staticmethod
    def of(text: str) -> PixelInput:
        """The one that a text describes. Raises InputError for any other text."""
        return PixelInput(*described(text))

    @property
    def channels(self) -> int:
        """Of what the network reads."""
        return Conversion.of(self.conversion).results

    def fed(self, shape: Iterable[Extent], channels: Extent) -> tuple[Extent, ...]:
        """The shape of the pixels for one of the network, (channels, height, width). channels: how
        many the pixels have.
        """
        _, *sides = shape
        return tuple(sides) if Conversion.of(self.conversion).channels == 1 else (*sides, channels)


def described(text: str) -> tuple[str, list[float] | None, list[float] | None]:
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
