"""The text of a level of a compilation, as `--emit` and `--dump` write it."""

from __future__ import annotations


def text_of(stage: object) -> str:
    """A level as a text with a line break at its end."""
    return f"{str(stage).rstrip()}\n"
