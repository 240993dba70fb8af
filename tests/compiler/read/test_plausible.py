"""Weights that no training leaves so are warned of, and others are not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ncc.compiler.read.plausible import PIECE, PIECES, StoredNumbers, faults
from ncc.compiler.read.read_network import read
from ncc.dialects.weights.stored import Encoding, Stored

Array = NDArray[np.float32]

NETWORK = """
    Input data 0 1 data 0=4 1=4 2=3
    Convolution conv 1 1 data a 0=8 1=3 5=1 6=216
"""
TAGS = {Encoding.FP32: 0, Encoding.FP16: 0x01306B47, Encoding.INT8: 0x000D4B38}
TYPES = {Encoding.FP32: "<f4", Encoding.FP16: "<f2", Encoding.INT8: "i1"}
HALF = Encoding.FP16
SINGLE = Encoding.FP32


def values(count: int = 216) -> Array:
    return np.random.default_rng(0).standard_normal(count).astype(np.float32)


def stored(filters: Array, encoding: Encoding = SINGLE, bias: Array | None = None) -> bytes:
    """The .bin of the network."""
    tag = TAGS[encoding].to_bytes(4, "little")
    bias = np.zeros(8, np.float32) if bias is None else bias
    return tag + filters.astype(TYPES[encoding]).tobytes() + bias.tobytes()


def partly(value: float, part: float) -> Array:
    """Some of the values are this one."""
    made = values()
    made[: int(part * made.size)] = value
    return made


@pytest.mark.parametrize(
    ("filters", "encoding", "says"),
    [
        (partly(0, 0.95), SINGLE, "is 94 % zero"),
        (partly(1e-9, 0.95), HALF, "is 94 % zero; fp16 has no smaller numbers: convert to fp32"),
        (partly(-0.0, 1), HALF, "is 100 % zero; fp16"),
        (partly(1e-41, 0.8), SINGLE, "is 79 % denormal or zero"),
        (partly(1e-6, 0.8), HALF, "is 79 % denormal or zero; fp16"),
        (partly(0, 0.8), Encoding.INT8, "is 93 % zero"),
        (partly(np.inf, 0.005), SINGLE, "has infinite values"),
        (partly(-1e9, 0.005), HALF, "has infinite values"),
        (partly(np.nan, 0.005), SINGLE, r"has values that are no numbers \(NaN\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_what_is_broken_is_named(
    write: Callable[..., Path], filters: Array, encoding: Encoding, says: str
) -> None:
    """By its layer and the line of that."""
    path = write(NETWORK, stored(filters, encoding))
    (warning,) = read(path).warnings
    place = f"{path}:4: warning: weight 'weight' of Convolution 'conv' "
    assert warning.startswith(place) and re.match(says, warning.removeprefix(place))


@pytest.mark.parametrize(
    ("filters", "encoding"),
    [
        (values(), SINGLE),
        (values(), HALF),
        (10 * values(), Encoding.INT8),
        (partly(0, 0.6), SINGLE),
        (partly(1e-41, 0.6), SINGLE),
    ],
)
def test_what_training_leaves_is_none_of_it(
    write: Callable[..., Path], filters: Array, encoding: Encoding
) -> None:
    """Some small weights, and a bias of zeros."""
    assert not read(write(NETWORK, stored(filters, encoding))).warnings


def test_a_bias_must_be_of_numbers(write: Callable[..., Path]) -> None:
    """It may be zero, but not infinite."""
    (warning,) = read(write(NETWORK, stored(values(), bias=partly(np.inf, 1)[:8]))).warnings
    assert warning.endswith("weight 'bias' of Convolution 'conv' has infinite values")


def test_what_is_put_beside_others_may_be_anything(write: Callable[..., Path]) -> None:
    """A mask, and what a maximum is padded with."""
    layers = """
        MemoryData mask 0 1 mask 0=40
        Input data 0 1 data 0=4 1=4 2=3
        Padding pad 1 1 data a 0=1 1=1 2=1 3=1 6=3
    """
    path = write(layers, np.full(43, -np.inf, np.float32).tobytes())
    assert not read(path).warnings


def test_few_values_say_nothing(write: Callable[..., Path]) -> None:
    """A filter of nine numbers may be zero."""
    layers = NETWORK.replace("0=8", "0=1").replace("2=3", "2=1").replace("6=216", "6=9")
    assert not read(write(layers, bytes(4 + 36 + 4))).warnings


def test_of_many_values_pieces_are_looked_at(tmp_path: Path) -> None:
    """The first and the last among them; the file need not hold all."""
    count = 100 * PIECES * PIECE
    numbers = values(count)
    path = tmp_path / "net.bin"
    told = StoredNumbers(Stored(str(path), 8), count, True)
    for first, fault in ((0, True), (PIECE, False), (count - PIECE, True)):
        changed = numbers.copy()
        changed[first : first + 10] = np.inf
        path.write_bytes(bytes(8) + changed.tobytes())
        assert bool(list(faults([told]))) == fault
    path.write_bytes(b"")
    assert not list(faults([told]))


def test_of_a_codebook_the_table_is_looked_at(write: Callable[..., Path]) -> None:
    """Its other bytes are places in that."""
    table = np.linspace(-1, 1, 256, dtype="<f4")
    places = bytes(216)
    assert not read(write(NETWORK, b"\1\0\0\0" + table.tobytes() + places + bytes(32))).warnings
    table[3] = np.nan
    (warning,) = read(write(NETWORK, b"\1\0\0\0" + table.tobytes() + places + bytes(32))).warnings
    assert "no numbers" in warning
