"""Weights in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.stored import Encoding, Raw, Stored, noting
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


@pytest.mark.parametrize("dtype", ["f8", "f2", "i8", "u1", "b1"])
def test_raw_values(tmp_path: Path, dtype: str) -> None:
    """As they are, from a byte that need not be aligned on; rows are read by themselves."""
    values = (np.arange(24) % 2 + 1).astype(dtype)
    path = tmp_path / "net.data"
    path.write_bytes(bytes(3) + values.tobytes())
    held = Weights((4, 6), Raw(str(path), 3, dtype))
    assert held.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(held.array(), values.reshape(4, 6))
    rows = held.rows(1, 3)
    assert rows is not None
    with noting() as pieces:
        np.testing.assert_array_equal(rows.array(), values.reshape(4, 6)[1:3])
    assert [(piece.offset, piece.size) for piece in pieces] == [
        (3 + 6 * values.itemsize, 12 * values.itemsize)
    ]
    path.write_bytes(bytes(5))
    with pytest.raises(NccError, match=r"net.data was cut off .* has 5 bytes"):
        held.array()
