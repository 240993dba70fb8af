"""The text of a float is the same float for everybody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ncc.compiler.verification import oracle
from ncc.compiler.write.floats import LONGEST, float_text, reading_of_old_runtimes

MAX = float(np.finfo(np.float32).max)
SPECIAL = [0.0, -0.0, 1.0, -0.1, 1e-45, -1e-45, 1.1754944e-38, 1e-38, MAX, -MAX, 4294967296.0]
SPECIAL += [0.1, 1 / 3, 0.123456789, 16777216.0, 33554432.0, 1e10, 1.67326324, 1.9999999, 88.37626]

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


def same(a: np.float32 | None, b: float) -> bool:
    return a is not None and np.float32(a).tobytes() == np.float32(b).tobytes()


@given(singles)
@example(-0.0)
@example(1e-45)
@example(MAX)
@example(-MAX)
def test_every_runtime_reads_the_same_float(value: float) -> None:
    """Old ones sum in 32 bits and read 15 characters; later ones round rightly."""
    text = float_text(value)
    assert len(text) <= LONGEST
    assert "." in text or "e" in text
    assert same(np.float32(text), value)
    assert same(reading_of_old_runtimes(text), value)


@pytest.mark.parametrize(
    "value, text",
    [(0.1, "0.1"), (1.0, "1.0"), (-MAX, "-3.4028235e+38"), (1e-45, "1e-45"), (-0.0, "-0.0")],
)
def test_it_is_short(value: float, text: str) -> None:
    """What a person would write, where that is read rightly."""
    assert float_text(value) == text


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_there_is_no_text_for_what_is_not_finite(value: float) -> None:
    """ncnn takes inf and nan for strings, and the default for the value."""
    with pytest.raises(ValueError, match="cannot say"):
        float_text(value)


@pytest.mark.parametrize("text", ["0.1234567890", "4294967296.0"])
def test_old_runtimes_overflow(text: str) -> None:
    """More than 9 digits behind the point, or more than 32 bits before it."""
    assert reading_of_old_runtimes(text) is None


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
def test_ncnn_reads_the_same_float(tmp_path: Path) -> None:
    """Each value is what a Padding puts beside its input."""
    values = np.random.default_rng(3).integers(0, 2**32, 300, np.uint64).astype(np.uint32)
    wanted = [*SPECIAL, *(v for v in values.view(np.float32).tolist() if np.isfinite(v))]
    lines = ["Input in 0 1 in 0=1", f"Split split 1 {len(wanted)} in"]
    lines[1] += "".join(f" x{k}" for k in range(len(wanted)))
    lines += [
        f"Padding p{k} 1 1 x{k} y{k} 3=1 5={float_text(value)}" for k, value in enumerate(wanted)
    ]
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {2 * len(wanted) + 1}", *lines, ""]))
    path.with_suffix(".bin").touch()
    found = oracle.run(path, path.with_suffix(".bin"), {"in": np.ones(1, np.float32)})
    read = [found[f"y{k}"][1] for k in range(len(wanted))]
    wrong = [(float_text(v), r) for v, r in zip(wanted, read, strict=True) if not same(r, v)]
    assert not wrong
