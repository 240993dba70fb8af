"""Weights made of others hold the numbers that they promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import bf16

from ncc.dialects.bfloat16 import from_bfloat16, to_bfloat16
from ncc.dialects.sources import Weights
from ncc.dialects.stored import Encoding, Stored, noting
from ncc.dialects.weight import WeightAttr


@pytest.mark.parametrize("columns", [1, 4, 5])
def test_paired(columns: int) -> None:
    """Columns become rows, the halves of which share an int32; zeros where one is missing."""
    values = np.random.default_rng(0).integers(-128, 128, (2, 3, columns)).astype(np.int8)
    plain = WeightAttr.of(values).data
    paired = plain.paired()
    half = (columns + 1) // 2
    assert (str(plain.dtype), str(paired.dtype)) == ("int8", "int32")
    assert paired.shape == (2, half, 3)
    held = paired.array()
    assert held.dtype == np.int32
    halves = held.view(np.int16).reshape(2, half, 3, 2)
    both = np.concatenate([halves[..., 0], halves[..., 1]], axis=1)
    turned = np.pad(values.swapaxes(1, 2), [(0, 0), (0, 2 * half - columns), (0, 0)])
    np.testing.assert_array_equal(both, turned)


def test_bits() -> None:
    """The same bytes, as another type."""
    words = np.array([[3, -1]], np.int32)
    bits = WeightAttr.of(words.view(np.float32)).data.bits()
    assert bits.dtype.name == "int32"
    np.testing.assert_array_equal(bits.array(), words)


def test_taken() -> None:
    """Rows in another order, and more often, of the same type; in blocks as well."""
    values = np.arange(12, dtype=np.int8).reshape(3, 2, 2)
    taken = WeightAttr.of(values).data.taken((2, 0, 2, 1))
    assert taken.shape == (4, 2, 2) and taken.dtype == np.int8
    np.testing.assert_array_equal(taken.array(), values[[2, 0, 2, 1]])
    blocks = taken.blocked((0,), 3).array()
    np.testing.assert_array_equal(blocks[0, ..., 0], values[2])
    np.testing.assert_array_equal(blocks[1, ..., 1], 0)


def test_joined() -> None:
    """Groups of a joined one lie along its diagonal, and zeros beside them."""
    values = np.arange(1, 25, dtype=np.float32).reshape(4, 1, 2, 3)
    joined = WeightAttr.of(values).data.joined(2)
    assert joined.shape == (2, 2, 4, 3)
    made = joined.array()
    np.testing.assert_array_equal(made[1, 0], [*values[2, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(made[1, 1], [[0, 0, 0], [0, 0, 0], *values[3, 0]])


def test_phases() -> None:
    """Taps of phases are windows of channels; a place without one holds a zero."""
    values = np.arange(1, 25, dtype=np.float32).reshape(2, 2, 3, 2)
    phases = WeightAttr.of(values).data.phases((((2, 0), (1, -1)), ((1, 0),)))
    assert phases.shape == (4, 2, 2, 2)
    made = phases.array().reshape(2, 2, 2, 2, 2)
    np.testing.assert_array_equal(made[:, 0], values[:, :, ::-2, ::-1])
    np.testing.assert_array_equal(made[:, 1, :, 0], values[:, :, 1, ::-1])
    np.testing.assert_array_equal(made[:, 1, :, 1], 0)


def test_halves() -> None:
    """Each value as two bfloat16, one behind the other in front of the last three axes."""
    values = np.random.default_rng(0).standard_normal((3, 4, 5, 2)).astype(np.float32)
    plain = WeightAttr.of(values).data
    halves = plain.halves()
    assert WeightAttr(halves).element_type == bf16 and halves.shape == (3, 2, 4, 5, 2)
    both = from_bfloat16(halves.array())
    np.testing.assert_allclose(both.sum(axis=1), values, rtol=2.0**-17, atol=0)
    np.testing.assert_array_equal(both[:, 0], from_bfloat16(to_bfloat16(values)))


HALVES = np.array([0.1, -0.0, 2.0**-24, 65504, np.inf, np.nan], np.float16)
"""Denormal numbers, the largest one and what is none among them."""


def test_narrow() -> None:
    """float16 as such, in any order and in blocks."""
    weights = WeightAttr.of(HALVES.reshape(3, 2)).data
    made = weights, weights.taken((2, 0)), weights.blocked((0,), 2), weights.taken((1,), 1)
    for wide in made:
        narrow = wide.narrow()
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
        assert WeightAttr.of(values).data.narrow() is None


def test_what_is_computed_is_not_narrow() -> None:
    """Nor is what is no float32."""
    values = WeightAttr.of(np.ones((2, 2, 3, 3))).data
    assert values.transformed(((1.0, 0.5, 0.0),), ((1.0, 0.0, 0.0),)).narrow() is None
    assert values.bits().narrow() is None
    assert WeightAttr.of(np.ones(3, np.int8)).data.narrow() is None


def test_files_are_looked_at_as_far_as_needed(tmp_path: Path) -> None:
    """Of one that says float16 nothing is, of float32 all if the first ones are float16."""
    path = tmp_path / "net.bin"
    values = np.ones(1 << 16, np.float32)
    values[5] = 0.1
    path.write_bytes(values.tobytes() + np.ones(1 << 16, np.float32).tobytes())

    def looked_at(encoding: Encoding, offset: int) -> tuple[bool, int]:
        stored = Weights((1 << 15, 2), Stored(str(path), offset, encoding))
        with noting() as pieces:
            found = stored.blocked((0,), 16).narrow() is not None
        return found, sum(piece.size for piece in pieces)

    assert looked_at(Encoding.FP16, 0) == (True, 0)
    assert looked_at(Encoding.FP32, 0) == (False, 1 << 12)
    found, size = looked_at(Encoding.FP32, values.nbytes)
    assert found and size >= values.nbytes


def test_parts_of_narrow_files(tmp_path: Path) -> None:
    """Rows are handed on one by one, as those of other files are."""
    path = tmp_path / "net.bin"
    path.write_bytes(np.arange(12).astype("<f2").tobytes())
    narrow = Weights((4, 3), Stored(str(path), 0, Encoding.FP16)).narrow()
    assert narrow is not None
    parts = narrow.parts(12)
    assert [part.shape for part in parts] == [(2, 3), (2, 3)]
    np.testing.assert_array_equal(parts[1].array(), np.arange(6, 12).reshape(2, 3))
