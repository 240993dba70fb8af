"""Weights in one blob: every source lands where it was sent, in its own type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.artifact import constants
from ncc.compiler.artifact.constants import Constants
from ncc.dialects.weights.derived import Blocked, Paired, Transformed
from ncc.dialects.weights.sources import Inline, Random, Weights
from ncc.dialects.weights.stored import Encoding, Stored
from ncc.runtime.artifact import as_bytes

FILTER = ((0.25, 0.5, 0.75), (1.0, -1.0, 2.0), (0.0, 3.0, 0.5), (1.0, 1.0, 1.0))


def sources(path: Path) -> list[Weights]:
    """Of every kind that is written in a way of its own, plain and in blocks."""
    values = np.random.default_rng(0).standard_normal(20 * 5 * 9).astype("<f4")
    path.write_bytes(values.tobytes())
    plain = Weights((20, 5, 3, 3), Stored(str(path), 0))
    transformed = Transformed(plain, FILTER, FILTER).weights
    return [
        plain,
        Blocked(plain, (0,), 16).weights,
        Blocked(plain, (1, 0), 16).weights,
        transformed,
        Blocked(transformed, (3, 2), 16).weights,
        Blocked(transformed, (2,), 16).weights,
        Blocked(transformed, (0,), 16).weights,
        Transformed(Weights((3, 3), Random(0, 1)), FILTER, FILTER).weights,
        Weights((7,), Inline(np.arange(7).astype("<i8").tobytes(), "i8")),
        Paired(Weights((4, 6), Random(1, 2, dtype="i1"))).weights,
        *(Weights((20, 3), Stored(str(path), 4, encoding)) for encoding in Encoding),
        Blocked(Weights((20, 3), Stored(str(path), 4, Encoding.FP16)), (0,), 16).weights,
        Weights((), Stored(str(path), 4)),
    ]


@pytest.mark.parametrize("part", [1, 1 << 30])
def test_every_source_is_written_as_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """Whether it goes there at once, or through an array; and what lies between stays zero."""
    monkeypatch.setattr(constants, "PART", part)
    held, end = [], 64
    for weights in sources(tmp_path / "net.bin"):
        held.append((end, weights))
        end += -(-weights.array().nbytes // 64) * 64
    described = Constants(end, tuple(held))
    blob = described.packed()
    assert blob.shape == (end,) and not blob[:64].any()
    chunks = [bytes(chunk) for chunk in described.chunks()]
    assert (len(chunks) > 1) == (part == 1)
    assert b"".join(chunks) == blob.tobytes()
    for offset, weights in held:
        expected = weights.array()
        assert expected.dtype == weights.dtype
        there = blob[offset : offset + expected.nbytes].view(weights.dtype)
        np.testing.assert_array_equal(there.reshape(weights.shape), expected)


def test_places_are_told_from_values(tmp_path: Path) -> None:
    """Whatever is not of 64 bits is data, be it integers; a place that is damaged is noticed."""
    room = 1 << 16
    held = tuple((room * n, data) for n, data in enumerate(sources(tmp_path / "net.bin")))
    described = Constants(room * len(held), held)
    (table,) = described.tables()
    blob = described.packed()
    assert table.size == 7 * 8 and table.is_whole(as_bytes(blob))
    blob[table.start + table.size - 1] ^= 1
    assert not table.is_whole(as_bytes(blob))


def test_a_transformation_is_what_it_says(tmp_path: Path) -> None:
    """m @ w @ m.T for the last two axes, which come first."""
    plain, *_ = sources(tmp_path / "net.bin")
    m = np.array(FILTER)
    expected = np.einsum("pk,oikl,ql->pqoi", m, plain.array().astype(np.float64), m)
    np.testing.assert_allclose(
        Transformed(plain, FILTER, FILTER).weights.array(), expected, rtol=1e-6, atol=1e-6
    )
