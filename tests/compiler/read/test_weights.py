"""Where the weights of a network are in its .bin file."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.weights.sources import Random
from ncc.dialects.weights.stored import Encoding, Stored
from ncc.dialects.weights.weight import WeightAttr

RAW = "MemoryData raw 0 1 a 0=3"
TAGGED = "MemoryData tagged 0 1 b 0=3 21=0"
VALUES = np.array([1.0, -2.0, 0.5], np.float32)


def weights(path: Path, seed: int | None = None) -> dict[str, WeightAttr]:
    """Every weight of a network by the name of its layer."""
    module = read(path, random_weights=seed).module
    return {
        op.layer_name: value
        for op in module.walk()
        if isinstance(op, Layer)
        for value in op.properties.values()
        if isinstance(value, WeightAttr)
    }


def failure(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read(path)
    return str(caught.value)


CODEBOOK = np.linspace(-4, 4, 256, dtype="<f4")


@pytest.mark.parametrize(
    ("tag", "payload", "encoding", "values"),
    [
        (0, VALUES.tobytes(), Encoding.FP32, VALUES),
        (0x0002C056, VALUES.tobytes(), Encoding.FP32, VALUES),
        (0x01306B47, VALUES.astype("<f2").tobytes() + b"\0\0", Encoding.FP16, VALUES),
        (0x000D4B38, b"\x05\xfb\x7f\0", Encoding.INT8, np.array([5, -5, 127], np.int8)),
        (
            0x00000001,
            CODEBOOK.tobytes() + b"\0\x80\xff\0",
            Encoding.CODEBOOK,
            CODEBOOK[[0, 128, 255]],
        ),
    ],
    ids=["fp32", "fp32, old tag", "fp16", "int8", "codebook"],
)
def test_a_tag_tells_the_encoding(
    write: Callable[..., Path],
    tag: int,
    payload: bytes,
    encoding: Encoding,
    values: np.ndarray[tuple[int], np.dtype[np.float32]],
) -> None:
    """Values lie behind the tag; what follows starts at a multiple of 4 bytes."""
    data = struct.pack("<I", tag) + payload + VALUES.tobytes()
    found = weights(write(f"{TAGGED}\n{RAW}", data))
    source = found["tagged"].data.source
    assert isinstance(source, Stored)
    assert (source.offset, source.encoding) == (4, encoding)
    np.testing.assert_array_equal(found["tagged"].array(), values)
    np.testing.assert_array_equal(found["raw"].array(), VALUES)


def test_weights_stand_in_file_order(write: Callable[..., Path]) -> None:
    """Each starts where the one before ends."""
    path = write(f"{RAW}\nMemoryData more 0 1 c 0=2 1=2", np.arange(7, dtype="<f4").tobytes())
    found = weights(path)
    np.testing.assert_array_equal(found["raw"].array(), [0, 1, 2])
    np.testing.assert_array_equal(found["more"].array(), [[3, 4], [5, 6]])


def test_a_file_that_ends_within_a_weight_is_an_error(write: Callable[..., Path]) -> None:
    """It names the layer, its line, the weight, the bytes wanted and the bytes left."""
    message = failure(write(f"{RAW}\nMemoryData more 0 1 c 0=2", bytes(16)))
    assert "net.param:4:1: error:" in message
    assert "net.bin ends within weight 'data' of MemoryData 'more'" in message
    assert "expected 8 bytes at byte 12 (2 values as fp32), found 4 bytes" in message


def test_a_file_that_ends_before_a_tag_is_an_error(write: Callable[..., Path]) -> None:
    """An empty file too."""
    assert "expected 4 bytes at byte 12" in failure(write(f"{RAW}\n{TAGGED}", bytes(12)))
    assert "found 0 bytes" in failure(write(TAGGED, b""))


def test_an_unknown_tag_is_a_codebook(write: Callable[..., Path]) -> None:
    """As in ncnn; when the file is too short for that, the tag is the likely culprit."""
    message = failure(write(TAGGED, b"\1\2\3\4" + bytes(12)))
    assert "expected 1028 bytes at byte 4" in message or "expected 1032 bytes at byte 0" in message
    assert "its tag is none of fp32, fp16 and int8" in message


def test_absurd_sizes_cost_nothing(write: Callable[..., Path]) -> None:
    """A weight is compared with the file before anything is made of it."""
    huge = "MemoryData huge 0 1 a 0=2147483647 1=2147483647 2=2147483647"
    assert "found 8 bytes" in failure(write(huge, bytes(8)))


def test_surplus_bytes_are_a_warning(write: Callable[..., Path]) -> None:
    """ncnn reads such a file too."""
    [warning] = read(write(RAW, bytes(16))).warnings
    assert "4 bytes behind the last weight are ignored" in warning


def test_a_missing_bin_matters_only_to_layers_with_weights(write: Callable[..., Path]) -> None:
    """A network without weights needs no file."""
    read(write("Input data 0 1 data"))
    message = failure(write(f"Input data 0 1 data\n{RAW}"))
    assert "net.param:4:1" in message
    assert "there is no file" in message
    with pytest.raises(ModelError, match="cannot be read"):
        read(write("Input data 0 1 data"), "nowhere.bin")


def test_weights_do_not_come_through_a_pipe(write: Callable[..., Path], tmp_path: Path) -> None:
    """They are looked up where they lie, some of them again later."""
    pipe = tmp_path / "pipe.bin"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"",))
    writer.start()
    with pytest.raises(ModelError, match="cannot be read: they must lie in a file"):
        read(write(f"Input data 0 1 data\n{RAW}"), pipe)
    writer.join()


def test_random_weights_follow_the_seed(write: Callable[..., Path]) -> None:
    """The same seed gives the same values, another seed others, and each weight its own."""
    path = write("MemoryData a 0 1 a 0=8\nMemoryData b 0 1 b 0=8")
    first, again, other = weights(path, 1), weights(path, 1), weights(path, 2)
    assert isinstance(first["a"].data.source, Random)
    np.testing.assert_array_equal(first["a"].array(), again["a"].array())
    assert not np.array_equal(first["a"].array(), other["a"].array())
    assert not np.array_equal(first["a"].array(), first["b"].array())


def test_random_matrices_are_scaled_by_their_fan_in(write: Callable[..., Path]) -> None:
    """A matrix keeps the size of what it is applied to."""
    values = weights(write("MemoryData m 0 1 m 0=400 1=50"), 3)["m"].array()
    assert values.shape == (50, 400)
    assert values.std() == pytest.approx(1 / 20, rel=0.05)
