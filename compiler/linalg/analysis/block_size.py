"""How many channels lie side by side: the block that layouts, tiles and groups count in."""

from __future__ import annotations

BLOCK = 16
"""Elements of a block on every target: narrower vectors make several passes over it."""


def blocks_of(channels: int) -> int:
    """How many blocks hold so many channels."""
    return -(-channels // BLOCK)


def lanes_in(channels: int) -> int:
    """How many lanes these blocks have."""
    return blocks_of(channels) * BLOCK
