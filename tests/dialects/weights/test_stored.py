"""Weights in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncc.dialects.weights.stored import Encoding, Stored
from ncc.runtime.errors import NccError


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("left", [0, 8, 23])
def test_a_file_that_was_cut_off_is_told(tmp_path: Path, encoding: Encoding, left: int) -> None:
    """Who writes it anew may have begun with nothing, or with less than was there."""
    path = tmp_path / "net.bin"
    path.write_bytes(bytes(8 + encoding.bytes_of(16)))
    held = Stored(str(path), 8, encoding)
    assert np.array_equal(held.read(16), np.zeros(16))
    path.write_bytes(bytes(left))
    with pytest.raises(NccError, match=f"net.bin was cut off .* has {left} bytes"):
        held.read(16)
