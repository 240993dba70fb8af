"""Networks whose weights are packed in blocks: read, optimized, written, compiled."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.dialects.weights.derived import unpack_integers

TAG_FP32, TAG_INT8 = 0, 0x000D4B38

PARAM = """7767517
4 4
Input x 0 1 x 0=40 1=3
Gemm product 1 1 x y 3=1 5=1 6=1 8=5 9=40 10=-1 18=410
Dropout drop 1 1 y z
BinaryOp twice 1 1 z out 0=2 1=1 2=2.0
"""

draw = np.random.default_rng(4)
PACKED = draw.integers(-128, 128, (5, 20), np.int8)
SCALES = draw.uniform(5, 15, (5, 2)).astype(np.float32)
INPUT_SCALES = draw.uniform(0.5, 1.5, 40).astype(np.float32)
X = draw.standard_normal((3, 40)).astype(np.float32)


def weights(tag: int = TAG_INT8) -> bytes:
    stored = PACKED if tag == TAG_INT8 else PACKED.astype("<f4")
    return struct.pack("<I", tag) + b"".join(a.tobytes() for a in (stored, SCALES, INPUT_SCALES))


@pytest.fixture
def network(tmp_path: Path) -> tuple[Path, Path]:
    param, binary = tmp_path / "net.param", tmp_path / "net.bin"
    param.write_text(PARAM)
    binary.write_bytes(weights())
    return param, binary


def expected() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    numbers = unpack_integers(PACKED, 4, 40) / np.repeat(SCALES, 32, axis=1)[:, :40]
    return np.asarray(2 * (X * INPUT_SCALES) @ numbers.T)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_compiled(network: tuple[Path, Path], level: int) -> None:
    """Numbers are divided by the scales of their blocks, columns of x times the input scales."""
    found = ncc.compile(*network, opt_level=level).run({"x": X})["out"]
    np.testing.assert_allclose(found, expected(), rtol=1e-4, atol=1e-4)


def test_optimizing_leaves_the_bytes(network: tuple[Path, Path], tmp_path: Path) -> None:
    """No factor is folded into what is packed; the written file holds the same numbers."""
    out = tmp_path / "out.param", tmp_path / "out.bin"
    report = ncc.optimize(*network, *out, input_shapes={"x": (3, 40)})
    assert "eliminate_dropout" in [rewrite.pattern for rewrite in report.rewrites]
    assert out[1].read_bytes() == weights()
    found = ncc.compile(*out).run({"x": X})["out"]
    np.testing.assert_allclose(found, expected(), rtol=1e-4, atol=1e-4)


def test_packed_numbers_have_the_tag_of_int8(network: tuple[Path, Path]) -> None:
    """Another tag means another file."""
    network[1].write_bytes(weights(TAG_FP32))
    with pytest.raises(ModelError, match="'B_data_packed' of Gemm 'product' holds numbers packed"):
        ncc.compile(*network)


@pytest.mark.parametrize(
    "line",
    [
        "Gemm g 1 1 x y 3=1 5=1 6=1 8=4 9=40 10=-1",
        "MultiHeadAttention g 1 1 x y 0=4 1=2 2=160 3=40 4=40",
    ],
)
def test_int8_without_a_term(line: str, tmp_path: Path) -> None:
    """Nothing says what one unit of them stands for."""
    param, binary = tmp_path / "net.param", tmp_path / "net.bin"
    param.write_text(f"7767517\n2 2\nInput x 0 1 x 0=40 1=3\n{line}\n")
    binary.write_bytes(struct.pack("<I", TAG_INT8) + bytes(4096))
    with pytest.raises(ModelError, match="its weights are int8, but there are no scales"):
        ncc.compile(param, binary)


def test_made_up_weights(network: tuple[Path, Path]) -> None:
    """Random weights are packed as well, and keep the size of what they are applied to."""
    x = np.random.default_rng(5).standard_normal((3, 40)).astype(np.float32)
    found = ncc.compile(network[0], random_weights=3).run({"x": x})["out"]
    assert 0.5 < found.std() / 2 < 2
