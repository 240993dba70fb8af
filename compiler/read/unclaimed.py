"""Bytes of a .bin file that no known layer claims: the weights of layers of unknown types.

    conv1 | ? | conv2 | bn | ? | fc         known layers have a size, once their tags are read

ncc first assumes that layers of unknown types have no weights. If bytes are left over at the end of
the file, they belong to one such layer. ncc measures the weights before that layer from the front
of the file, and the weights behind it from the end, backwards, by the tags that must be there. It
accepts the result if exactly one layer and one size fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ncc.compiler.read.buffers import Buffer
from ncc.dialects.weights.stored import Encoding

Items: TypeAlias = Sequence[Buffer | None]
"""The weights of a file in order; None stands for all weights of a layer of an unknown type."""

EncodingAt: TypeAlias = Callable[[int], Encoding | None]
"""What a tag at a position of the file says; None where the file ends before."""

MOST_STARTS = 1000
"""If the known weights may start at more positions than this, any position would do."""


def unclaimed(items: Items, size: int, encoding_at: EncodingAt) -> list[list[int]]:
    """The bytes of each None of the items, in order: every way in which a file of `size` fits.

    Codebooks, which any tag says, are thought of only where nothing fits without them.
    """
    for codebooks in (False, True):
        search = _Search(size, encoding_at, codebooks)
        if found := search.ways(items):
            return found
    return []


class _Search:
    """The search for layouts of one file."""

    def __init__(self, size: int, encoding_at: EncodingAt, codebooks: bool) -> None:
        self.size = size
        self.encoding_at = encoding_at
        self.codebooks = codebooks

    def ways(self, items: Items) -> list[list[int]]:
        gaps = [k for k, item in enumerate(items) if item is None]
        if self._end(items) == self.size:
            return [[0] * len(gaps)]
        found = []
        for number, k in enumerate(gaps):
            first = self._end(items[:k])
            if first is None:
                break
            for start in self._starts(items[k + 1 :]):
                if start > first:
                    found.append([start - first if j == number else 0 for j in range(len(gaps))])
        return found

    def _end(self, items: Items) -> int | None:
        """Where the items end that start with the file; None where they do not fit."""
        at = 0
        for item in items:
            if item is None:
                continue
            encoding = self._encoding(item, at)
            if encoding is None:
                return None
            at += item.size(encoding)
        return at if at <= self.size else None

    def _starts(self, items: Items) -> list[int]:
        """Where the items can start that end with the file."""
        ends = {self.size}
        for item in reversed(items):
            if item is not None:
                ends = {
                    end - item.size(encoding)
                    for end in ends
                    for encoding in item.encodings
                    if self._encoding(item, end - item.size(encoding)) is encoding
                }
            if len(ends) > MOST_STARTS:
                break
        return sorted(ends)

    def _encoding(self, item: Buffer, at: int) -> Encoding | None:
        """That of an item at a position; None where it cannot be there."""
        if at < 0:
            return None
        if not item.tagged:
            return Encoding.FP32
        encoding = self.encoding_at(at)
        if encoding not in item.encodings or (encoding is Encoding.CODEBOOK and not self.codebooks):
            return None
        return encoding
