"""Networks with int8 layers are optimized, written and compiled."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.verification import oracle
from ncc.compiler.verification.verify import report_lines, verify
from tests.crossed import some

TAG_INT8 = 0x000D4B38

PARAM = """7767517
6 6
Input data 0 1 data 0=6 1=5 2=4
Convolution conv1 1 1 data conv1 0=8 1=3 4=1 5=1 6=288 8=2
ReLU relu1 1 1 conv1 relu1
ConvolutionDepthWise conv2 1 1 relu1 conv2 0=8 1=3 5=1 6=72 7=8 8=1
Dropout drop 1 1 conv2 drop
InnerProduct fc 1 1 drop prob 0=3 1=1 2=288 8=2
"""


CHAIN = """7767517
7 8
Input data 0 1 data 0=6 1=5 2=4
Convolution conv1 1 1 data conv1 0=24 1=3 4=1 5=1 6=864 8=102 9=1
Split split 1 2 conv1 a b
ConvolutionDepthWise conv2 1 1 a conv2 0=24 1=3 4=1 5=1 6=216 7=24 8=101 9=1
Concat both 2 1 conv2 b both
Convolution conv3 1 1 both conv3 0=8 1=1 5=1 6=384 8=2
InnerProduct fc 1 1 conv3 prob 0=3 1=1 2=720 8=2
"""


MIXED = """7767517
3 3
Input data 0 1 data
Convolution a 1 1 data a 0=32 1=3 4=1 5=1 6=9216 9=1
Convolution b 1 1 a b 0=32 1=3 4=1 5=1 6=9216 8=2
"""


def weights(*layers: tuple[int, int, bool]) -> bytes:
    """int8 weights, biases and scales of layers: (weights, outputs, whether the result is int8)."""
    generator = np.random.default_rng(5)
    out = b""
    for count, outputs, makes_int8 in layers:
        values = generator.integers(-90, 90, count).astype(np.int8).tobytes()
        out += struct.pack("<I", TAG_INT8) + values + b"\0" * (-count % 4)
        out += generator.standard_normal(outputs).astype("<f4").tobytes()
        out += np.full(outputs, 60.0, "<f4").tobytes()
        out += np.full(1 + makes_int8, 20.0, "<f4").tobytes()
    return out


@pytest.fixture
def network(tmp_path: Path) -> tuple[Path, Path]:
    param, bin = tmp_path / "net.param", tmp_path / "net.bin"
    param.write_text(PARAM)
    bin.write_bytes(weights((288, 8, False), (72, 8, False), (288, 3, False)))
    return param, bin


@pytest.fixture
def chain(tmp_path: Path) -> tuple[Path, Path]:
    """int8 blobs from layer to layer, handed on and joined between them."""
    param, bin = tmp_path / "chain.param", tmp_path / "chain.bin"
    param.write_text(CHAIN)
    bin.write_bytes(weights((864, 24, True), (216, 24, True), (384, 8, False), (720, 3, False)))
    return param, bin


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
def test_optimizing_keeps_the_numbers(network: tuple[Path, Path], tmp_path: Path) -> None:
    """The Dropout goes, the quantized layers stay quantized, and ncnn computes the same."""
    out = tmp_path / "out.param", tmp_path / "out.bin"
    report = ncc.optimize(*network, *out)
    assert "eliminate_dropout" in [rewrite.pattern for rewrite in report.rewrites]
    assert out[1].read_bytes().count(struct.pack("<I", TAG_INT8)) == 3
    x = np.random.default_rng(6).uniform(-1, 1, (4, 5, 6)).astype(np.float32)
    before = oracle.run(*network, {"data": x}, ["prob"])["prob"]
    after = oracle.run(*out, {"data": x}, ["prob"])["prob"]
    np.testing.assert_allclose(after, before, rtol=1e-6)


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
@pytest.mark.parametrize(
    "way", some([(2, "host"), (0, "baseline"), (2, "avx2"), (2, "baseline")], usual=1), ids=str
)
def test_ncnn_computes_the_same(network: tuple[Path, Path], way: tuple[int, str]) -> None:
    """Every blob, at every level and target: the sums are exact, the rest is a few roundings."""
    level, target = way
    report = verify(*network, opt_level=level, target=target)
    assert report.no_ncnn is None
    assert report.first is None, "\n".join(report_lines(report))


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
@pytest.mark.slow
def test_int8_blobs_between_layers(chain: tuple[Path, Path]) -> None:
    """They stay int8 through layers that only move them; ncnn may round a step another way."""
    for level, target in [(0, "host"), (2, "host"), (2, "avx2"), (2, "baseline")]:
        report = verify(*chain, opt_level=level, target=target)
        assert report.first is None, "\n".join(report_lines(report))
        found = {row.blob: row.ncnn for row in report.rows}
        assert all(apart is not None and apart < 0.02 for apart in found.values()), found
    model = ncc.compile(*chain, outputs=["a", "both", "prob"])
    dtypes = {binding.name: binding.dtype for binding in model.outputs}
    assert dtypes == {"a": "int8", "both": "int8", "prob": "float32"}


def test_bytes_from_a_convolution_of_floats(tmp_path: Path) -> None:
    """Its tiles are quantized, in code of one size, and for images that are not small."""
    param, bin = tmp_path / "mixed.param", tmp_path / "mixed.bin"
    param.write_text(MIXED)
    floats = np.random.default_rng(7).standard_normal(9216 + 32).astype("<f4") * np.float32(0.1)
    bin.write_bytes(struct.pack("<I", 0) + floats.tobytes() + weights((9216, 32, False)))
    model = ncc.compile(param, bin, input_shapes={"data": (32, None, None)})
    for shape in ((32, 40, 41), (32, 5, 6)):
        x = np.random.default_rng(8).uniform(-1, 1, shape).astype(np.float32)
        want = ncc.compile(param, bin, input_shapes={"data": shape}, opt_level=1)(x)
        fixed = ncc.compile(param, bin, input_shapes={"data": shape})
        for found in (model(x), fixed(x)):
            # Where rounding differs, a byte is one off.
            np.testing.assert_allclose(found, want, rtol=0, atol=0.02 * np.abs(want).max())
