"""The number of channels in a block, for layouts, tiles and groups."""

from __future__ import annotations

BLOCK = 16
"""Elements of a block on every target: narrower vectors make several passes over it."""


def blocks_of(channels: int) -> int:
    """How many blocks hold so many channels."""
    return -(-channels // BLOCK)


def lanes_in(channels: int) -> int:
    """How many lanes the blocks of so many channels have."""
    return blocks_of(channels) * BLOCK
