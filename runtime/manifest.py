"""Typed access to a JSON object that may be broken or forged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ncc.runtime.errors import ArtifactError

# Above every size that a process can address.
MOST_BYTES = 1 << 47


class Fields:
    """The fields of a JSON object, each asked for with its type.

    broken: makes the error that is raised when a field is missing or of another type.
    """

    def __init__(self, value: object, broken: Callable[[str], ArtifactError]) -> None:
        if not isinstance(value, dict):
            raise broken("a part of the manifest is not an object")
        self._values: Mapping[str, Any] = value
        self.broken = broken

    def _get(self, name: str, kind: type, what: str) -> Any:
        value = self._values.get(name)
        if type(value) is not kind:
            raise self.broken(f"{name} in the manifest is not {what}")
        return value

    def _list(self, name: str, kind: type, what: str) -> list[Any]:
        values: list[Any] = self._get(name, list, "a list")
        if not all(type(value) is kind for value in values):
            raise self.broken(f"{name} in the manifest is not a list of {what}")
        return values

    def number(self, name: str, least: int = 0) -> int:
        """A whole number that can be a size."""
        value: int = self._get(name, int, "a number")
        if not least <= value < MOST_BYTES:
            raise self.broken(f"{name} in the manifest is out of range")
        return value

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers that can be sizes."""
        values = self._list(name, int, "numbers")
        if not all(0 <= value < MOST_BYTES for value in values):
            raise self.broken(f"{name} in the manifest is out of range")
        return tuple(values)

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers of either sign."""
        values = self._list(name, int, "numbers")
        if not all(-MOST_BYTES < value < MOST_BYTES for value in values):
            raise self.broken(f"{name} in the manifest is out of range")
        return tuple(values)

    def rows(self, name: str, width: int | None) -> list[list[Any]]:
        """A list of lists, of so many values each."""
        rows: list[list[Any]] = self._list(name, list, "lists")
        if width is not None and any(len(row) != width for row in rows):
            raise self.broken(f"{name} in the manifest has not {width} values in each row")
        return rows

    def text(self, name: str) -> str:
        """A text."""
        value: str = self._get(name, str, "a text")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        return self._list(name, str, "texts")

    def flag(self, name: str) -> bool:
        """True or false."""
        value: bool = self._get(name, bool, "true or false")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object with any content."""
        value: Mapping[str, Any] = self._get(name, dict, "an object")
        return value

    def fields(self, name: str) -> Fields:
        """An object with fields."""
        return Fields(self._values.get(name), self.broken)

    def objects(self, name: str) -> list[Fields]:
        """A list of objects."""
        return [Fields(value, self.broken) for value in self._list(name, dict, "objects")]
