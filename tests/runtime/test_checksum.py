"""Checksums of parts, joined."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from ncc.runtime.checksum import joined


@pytest.mark.parametrize("first", [0, 1, 1000])
@pytest.mark.parametrize("second", [0, 1, 7, 4096, 12345, 1 << 20])
def test_two_parts_are_one_text(first: int, second: int) -> None:
    """Whatever their sizes are."""
    text = np.random.default_rng(second).bytes(first + second)
    a, b = crc32(text[:first]), crc32(text[first:])
    assert joined(a, b, second) == crc32(text)
