"""float16 and bfloat16 are widened exactly and rounded to nearest, whatever a target has for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from ncc.dialects.bfloat16 import from_bfloat16, to_bfloat16
from tests.compiler.llvm.called import Compile, Floats

COUNT = 1 << 16
TEXT = """
func.func @widen(%x: memref<65536x{type}>, %y: memref<65536xf32>) {{
  %c0 = arith.constant 0 : index
  %cn = arith.constant 65536 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %cn step %c8 {{
    %v = vector.load %x[%i] : memref<65536x{type}>, vector<8x{type}>
    %w = "arith.extf"(%v) : (vector<8x{type}>) -> vector<8xf32>
    vector.store %w, %y[%i] : memref<65536xf32>, vector<8xf32>
  }}
  func.return
}}
func.func @round(%x: memref<65536xf32>, %y: memref<65536x{type}>) {{
  %c0 = arith.constant 0 : index
  %cn = arith.constant 65536 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %cn step %c8 {{
    %v = vector.load %x[%i] : memref<65536xf32>, vector<8xf32>
    %w = "arith.truncf"(%v) : (vector<8xf32>) -> vector<8x{type}>
    vector.store %w, %y[%i] : memref<65536x{type}>, vector<8x{type}>
  }}
  func.return
}}
"""

Bits = npt.NDArray[np.uint16]
ALL_BITS: Bits = np.arange(COUNT, dtype=np.uint16)


def widened(type: str, bits: Bits) -> Floats:
    """What numpy, or the layers' own meaning, says the bits are."""
    return bits.view(np.float16).astype(np.float32) if type == "f16" else from_bfloat16(bits)


def rounded(type: str, values: Floats) -> Bits:
    """The bits of the nearest number, by the same."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16) if type == "f16" else to_bfloat16(values)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_all_numbers_are_widened_exactly(type: str, compiled: Compile) -> None:
    """Denormal ones, both zeros, infinities; what is NaN stays NaN."""
    found = np.zeros(COUNT, np.float32)
    compiled(TEXT.format(type=type)).call("widen", ALL_BITS, found)
    expected = widened(type, ALL_BITS)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_what_was_widened_is_rounded_back(type: str, compiled: Compile) -> None:
    """To its own bits, but those of a NaN."""
    wide, found = widened(type, ALL_BITS), np.zeros(COUNT, np.uint16)
    compiled(TEXT.format(type=type)).call("round", wide, found)
    numbers = ~np.isnan(wide)
    np.testing.assert_array_equal(found[numbers], ALL_BITS[numbers])
    assert np.isnan(widened(type, found[~numbers])).all()


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_numbers_are_rounded_to_nearest_and_ties_to_even(type: str, compiled: Compile) -> None:
    """Amid two neighbours, a little beside that, and anywhere."""
    pairs = np.sort(widened(type, ALL_BITS[: 0x7C00 if type == "f16" else 0x7F80]))[::4]
    ties = ((pairs[:-1].astype(np.float64) + pairs[1:]) / 2).astype(np.float32)
    beside = [np.nextafter(ties, np.float32(way)) for way in (-np.inf, np.inf)]
    chance = np.random.default_rng(0).integers(0, 1 << 32, COUNT, np.uint32).view(np.float32)
    values = np.concatenate([ties, *beside, chance])[:COUNT]
    np.negative(values[::2], out=values[::2])
    found = np.zeros(COUNT, np.uint16)
    compiled(TEXT.format(type=type)).call("round", values, found)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(found[numbers], rounded(type, values)[numbers])
    assert np.isnan(widened(type, found[~numbers])).all()
