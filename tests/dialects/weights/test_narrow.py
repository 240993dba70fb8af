"""Weights in fewer bytes: what they hold, and how much is looked at for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.dialects.weights.derived import Bits, Blocked, Taken, Transformed
from ncc.dialects.weights.narrow import FixedPoint, Scales, ShortFixedPoint, narrowed
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.stored import Encoding, Stored, noting
from ncc.dialects.weights.weight import WeightAttr
from tests.structured.evaluate import short_fractions

HALVES = np.array([0.1, -0.0, 2.0**-24, 65504, np.inf, np.nan], np.float16)
"""Denormal numbers, the largest one and what is none among them."""


def test_narrow() -> None:
    """float16 as such, in any order and in blocks."""
    weights = WeightAttr.of(HALVES.reshape(3, 2)).data
    moved = Taken(weights, (2, 0)), Blocked(weights, (0,), 2), Taken(weights, (1,), 1)
    for wide in (weights, *(source.weights for source in moved)):
        narrow = narrowed(wide)
        assert narrow is not None and narrow.dtype == np.float16 and narrow.shape == wide.shape
        assert narrow.array().astype(np.float32).tobytes() == wide.array().tobytes()


@pytest.mark.parametrize(
    "bits",
    [0x3F800001, 0x33000000, 0x477FF000, 0x7FC00001, 0xFF800001],
    ids=["more bits", "less than the least", "more than the largest", "NaN", "signaling NaN"],
)
def test_not_narrow(bits: int) -> None:
    """One number that float16 has not, wherever it stands."""
    for place in (0, -1):
        values = np.ones(5000, np.float32)
        values.view(np.uint32)[place] = bits
        assert narrowed(WeightAttr.of(values).data) is None


def test_what_is_computed_is_not_narrow() -> None:
    """Nor is what is no float32."""
    values = WeightAttr.of(np.ones((2, 2, 3, 3))).data
    transformed = Transformed(values, ((1.0, 0.5, 0.0),), ((1.0, 0.0, 0.0),))
    assert narrowed(transformed.weights) is None and narrowed(Bits(values).weights) is None
    assert narrowed(WeightAttr.of(np.ones(3, np.int8)).data) is None


def test_files_are_looked_at_as_far_as_needed(tmp_path: Path) -> None:
    """Of one that says float16 nothing is, of float32 all if the first ones are float16."""
    path = tmp_path / "net.bin"
    values = np.ones(1 << 16, np.float32)
    values[5] = 0.1
    path.write_bytes(values.tobytes() + np.ones(1 << 16, np.float32).tobytes())

    def looked_at(encoding: Encoding, offset: int) -> tuple[bool, int]:
        stored = Weights((1 << 15, 2), Stored(str(path), offset, encoding))
        with noting() as pieces:
            found = narrowed(Blocked(stored, (0,), 16).weights) is not None
        return found, sum(piece.size for piece in pieces)

    assert looked_at(Encoding.FP16, 0) == (True, 0)
    assert looked_at(Encoding.FP32, 0) == (False, 1 << 12)
    found, size = looked_at(Encoding.FP32, values.nbytes)
    assert found and size >= values.nbytes


def test_parts_of_narrow_files(tmp_path: Path) -> None:
    """Rows are handed on one by one, as those of other files are."""
    path = tmp_path / "net.bin"
    path.write_bytes(np.arange(12).astype("<f2").tobytes())
    narrow = narrowed(Weights((4, 3), Stored(str(path), 0, Encoding.FP16)))
    assert narrow is not None
    parts = narrow.parts(12)
    assert [part.shape for part in parts] == [(2, 3), (2, 3)]
    np.testing.assert_array_equal(parts[1].array(), np.arange(6, 12).reshape(2, 3))


def fractions(held: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numbers of three bytes each, in double precision."""
    bytes = held.reshape(*held.shape, 1).view(np.uint8).astype(np.int32)
    whole = bytes @ np.array([1, 1 << 8, 1 << 16], np.int32)
    return (whole - (whole >= 1 << 23) * (1 << 24)) / 2.0**23


def test_fractions_of_rows() -> None:
    """Of the power of two above each row, rounded: to 2**-24 of it, and not up to a whole one."""
    values = np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)
    values[0, 3], values[1], values[2, 7] = 2.0, 0, np.nextafter(np.float32(-8), np.float32(0))
    values[3] *= 1e-30
    weights = WeightAttr.of(values).data
    held, scales = FixedPoint(weights, (0,)).weights, Scales(weights, (0,)).weights
    assert (held.shape, held.dtype.itemsize, scales.shape) == ((4, 50), 3, (4,))
    powers = scales.array()
    largest = abs(values).max(1)
    assert (np.frexp(powers)[0] == 0.5).all() and (largest < powers).all()
    assert (powers[[0, 2, 3]] <= 2 * largest[[0, 2, 3]]).all()
    found = fractions(held.array()) * powers[:, None]
    assert (abs(found - values.astype(np.float64)) <= 2.0**-24 * powers[:, None]).all()


def test_short_fractions() -> None:
    """Of the same power, rounded to 2**-20 of it; both of two that share a byte."""
    values = np.random.default_rng(0).standard_normal((3, 50, 16)).astype(np.float32)
    values[0, 3, 4], values[0, 3, 5] = 4.0, np.nextafter(np.float32(8), np.float32(0))
    values[1, :, 7], values[1, 9, 8] = 0, np.nextafter(np.float32(-8), np.float32(0))
    weights = WeightAttr.of(values).data
    held, scales = ShortFixedPoint(weights, (0, 2)).weights, Scales(weights, (0, 2)).weights
    assert (held.shape, held.dtype.itemsize) == ((3, 50, 20), 2)
    numbers = short_fractions(held.array())
    assert numbers.min() == 0 and numbers.max() == (1 << 20) - 1
    powers = scales.array()[:, None].astype(np.float64)
    found = (numbers / 2.0**19 - 1) * powers
    assert (abs(found - values) <= 2.0**-20 * powers)[values < 7].all()
    assert (abs(found - values) <= 2.0**-19 * powers).all()  # not up to a whole one
    some = WeightAttr.of(values[1:]).data
    rows = ShortFixedPoint(some, (0, 2)).weights.array()
    assert rows.tobytes() == held.array()[1:].tobytes()


def test_fractions_of_a_matrix_by_columns_and_of_blocks(tmp_path: Path) -> None:
    """Axes of rows lie anywhere; some rows are as they are among all, where they lie in front."""
    values = np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32)
    weights = WeightAttr.of(values).data
    by_column = fractions(FixedPoint(weights, (1,)).weights.array())
    by_row = FixedPoint(Taken(weights, (0, 1, 2, 3, 4), 1).weights, (1,)).weights
    assert by_row.rows(0, 1) is None and Scales(weights, (1,)).weights.shape == (5,)
    np.testing.assert_allclose(
        by_column * Scales(weights, (1,)).weights.array(), values, rtol=0, atol=2.0**-22
    )
    path = tmp_path / "net.bin"
    path.write_bytes(values.tobytes())
    blocks = Blocked(Weights((6, 5), Stored(str(path), 0, Encoding.FP32)), (0,), 4).weights
    held, scales = FixedPoint(blocks, (0, 2)).weights, Scales(blocks, (0, 2)).weights
    assert (held.shape, scales.shape) == ((2, 5, 4), (2, 4))
    for whole in (held, scales):
        rows = whole.rows(1, 2)
        assert rows is not None and rows.array().tobytes() == whole.array()[1:].tobytes()
