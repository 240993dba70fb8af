"""Weights as ncnn stores them: tags, halves, bytes, and what is too large for a half."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ncc.compiler.write import weights as room
from ncc.compiler.write.weights import KeptWide, write_weights
from ncc.dialects.ncnn.layer import LAYERS, Layer
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.stored import Encoding, Stored
from ncc.dialects.weights.weight import WeightAttr

FP32_TAG, FP16_TAG, INT8_TAG = (
    number.to_bytes(4, "little") for number in (0, 0x01306B47, 0x000D4B38)
)


def product(weight: WeightAttr, bias: WeightAttr | None = None) -> Layer:
    """An InnerProduct of one output: a tagged weight, and a raw bias."""
    count = weight.shape[1]
    params = {"num_output": 1, "bias_term": int(bias is not None), "weight_data_size": count}
    held = {"weight": weight} if bias is None else {"weight": weight, "bias": bias}
    return LAYERS["InnerProduct"].make([], params, held, name="fc", blobs=["y"])


def row(*values: float) -> WeightAttr:
    return WeightAttr.of(np.array([values], np.float32))


def written(*layers: Layer, fp16: bool = False) -> tuple[bytes, list[KeptWide]]:
    file = io.BytesIO()
    kept = write_weights(layers, file, fp16=fp16)
    return file.getvalue(), kept


def data(values: list[float], dtype: str) -> bytes:
    return np.array(values, dtype).tobytes()


def test_fp32() -> None:
    """A tag before the weight, none before the bias; nothing is rounded to zero."""
    layer = product(row(1e-40, -2.0), WeightAttr.of(np.array([3.0])))
    assert written(layer)[0] == FP32_TAG + data([1e-40, -2.0], "<f4") + data([3.0], "<f4")


def test_fp16_is_for_tagged_weights() -> None:
    """Halves, filled up to four bytes; the bias has no tag and stays fp32."""
    layer = product(row(0.1, 0.2, 65504.0), WeightAttr.of(np.array([0.1])))
    halves = data([0.1, 0.2, 65504.0], "<f2") + bytes(2)
    assert written(layer, fp16=True) == (FP16_TAG + halves + data([0.1], "<f4"), [])


def test_what_no_half_can_hold_stays() -> None:
    """A weight of 65505 would become 65504, and a larger one infinite."""
    found, kept = written(product(row(1.0, -1e6)), product(row(np.inf, 1.0)), fp16=True)
    halves = FP16_TAG + data([np.inf, 1.0], "<f2")
    assert found == FP32_TAG + data([1.0, -1e6], "<f4") + halves
    assert [str(one) for one in kept] == [
        "weight 'weight' of layer 'fc' stays fp32: 1e+06 is beyond fp16"
    ]


@pytest.mark.parametrize("fp16", [False, True])
def test_int8_stays(fp16: bool) -> None:
    """Bytes, filled up to four."""
    layer = product(WeightAttr.of(np.array([[1, -2, 3, 4, 5]], np.int8)))
    assert written(layer, fp16=fp16)[0] == INT8_TAG + data([1, -2, 3, 4, 5], "i1") + bytes(3)


def test_halves_and_codebooks_of_a_file(tmp_path: Path) -> None:
    """What is read of them is written; as halves again if asked."""
    path = tmp_path / "net.bin"
    table = np.arange(256, dtype="<f4").tobytes()
    path.write_bytes(data([0.1, 0.2], "<f2") + table + bytes([7, 250]))
    half = WeightAttr(Weights((1, 2), Stored(str(path), 0, Encoding.FP16)))
    coded = WeightAttr(Weights((1, 2), Stored(str(path), 4, Encoding.CODEBOOK)))
    wide = np.array([0.1, 0.2], "<f2").astype("<f4").tobytes()
    assert written(product(half))[0] == FP32_TAG + wide
    assert written(product(half), fp16=True)[0] == FP16_TAG + data([0.1, 0.2], "<f2")
    assert written(product(coded))[0] == FP32_TAG + data([7, 250], "<f4")


def test_large_weights_go_by_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces come together to the same bytes."""
    values: NDArray[np.float32] = np.arange(11, dtype=np.float32)[None]
    whole = [written(product(WeightAttr.of(values)), fp16=fp16) for fp16 in (False, True)]
    monkeypatch.setattr(room, "PIECE", 4)
    assert whole == [written(product(WeightAttr.of(values)), fp16=fp16) for fp16 in (False, True)]
