"""The orders of channels that pixels have, and conversions between them, by ncnn's names.

Conversion.of("bgr2rgb").places()   ->  [2, 1, 0]
"""

from __future__ import annotations

from typing import NamedTuple

from ncc.runtime.errors import InputError, did_you_mean

ORDERS = {"rgb": "rgb", "bgr": "bgr", "gray": "y", "rgba": "rgba", "bgra": "bgra"}
"""A letter for each channel, y being gray, by the names of orders."""

GRAY = {"r": 77, "g": 150, "b": 29}
"""The weights of colours in gray, of 256."""

GRAY_SHIFT = 8

GRAY_OF_COLOURS = -1
"""In place of a channel: the gray of all colours."""


class Conversion(NamedTuple):
    """From one order of channels to another."""

    source: str
    target: str

    @staticmethod
    def of(name: str) -> Conversion:
        """The conversion of a name, as "rgb" or "bgr2rgb". Raises InputError for any other text."""
        parts = name.split("2") if isinstance(name, str) else []
        if len(parts) not in (1, 2) or not all(part in ORDERS for part in parts):
            wanted = f"one of {', '.join(ORDERS)}, or two as bgr2rgb"
            guess = did_you_mean(str(name), ORDERS)
            raise InputError("no conversion of pixels", None, wanted, repr(name), guess)
        return Conversion(parts[0], parts[-1])

    @property
    def channels(self) -> int:
        """Of the pixels."""
        return len(ORDERS[self.source])

    @property
    def results(self) -> int:
        """The number of channels behind it."""
        return len(ORDERS[self.target])

    @property
    def reversed(self) -> Conversion:
        """The conversion back."""
        return Conversion(self.target, self.source)

    def places(self) -> list[int | None]:
        """The channel that each one behind it is; `GRAY_OF_COLOURS`, or None for opaque."""
        letters = ORDERS[self.source]
        return [_place(letter, letters) for letter in ORDERS[self.target]]

    def gray_weights(self) -> list[int]:
        """The weight of each channel in gray; alpha has none."""
        return [GRAY.get(letter, 0) for letter in ORDERS[self.source]]

    def __str__(self) -> str:
        return self.source if self.source == self.target else f"{self.source}2{self.target}"


def _place(letter: str, letters: str) -> int | None:
    if letter in letters:
        return letters.index(letter)
    if letter == "a":
        return None
    return 0 if letters == "y" else GRAY_OF_COLOURS
