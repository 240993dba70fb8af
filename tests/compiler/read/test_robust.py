"""Whatever the three kinds of file hold: a network comes out, or an error about the model."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.read.read_network import read

TEXT = b"""7767517
6 8
Input data 0 1 data -23330=4,3,8,8,2 0=8 1=8 2=2
Split s 1 2 data a b
Dropout d 1 1 a c 0=0.5
MemoryData m 0 1 e -23330=5,2,4,3,1,1 0=4 1=3
MemoryData n 0 1 f 0=4 21=0
Noop n 3 2 c b e g h
"""

BINARY = struct.pack(
    "<27i",
    *(7767517, 3, 3),
    *(16, 0, 1, 0, 0, 4, -233),
    *(19, 0, 1, 1, 0, 3, 21, 0, -233),
    *(9, 1, 1, 0, 2, 0, 0x3F000000, -233),
)

WEIGHTS = bytes(12 * 4) + struct.pack("<I", 0x01306B47) + bytes(8)

PIECES = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [b"-1", b"2147483647", b"1e9", b'0="', b",", b"\n", b" ", b"=", b"-23300=", b"a"]
    ),
    st.integers(-(2**31), 2**31 - 1).map(lambda word: struct.pack("<i", word)),
    st.sampled_from([-23300, -23400, -23330, -233, 256, 0x7FFFFFFF]).map(
        lambda word: struct.pack("<i", word)
    ),
)

EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 1, 4, 4, 40]), PIECES), min_size=1, max_size=4
)

quick = settings(max_examples=60)


def edited(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Some pieces of the data replaced by others."""
    for where, length, piece in edits:
        at = int(where * len(data))
        data = data[:at] + piece + data[at + length :]
    return data


def survive(param: bytes, weights: bytes) -> None:
    """Reading ends, with a network or with an error about the model that can be printed."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "net.param")
        path.write_bytes(param)
        path.with_suffix(".bin").write_bytes(weights)
        try:
            str(read(path).module)
        except (ModelError, Unsupported) as error:
            assert str(error)


@quick
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes(data: bytes, has_magic: bool) -> None:
    """With and without the number that starts a binary file."""
    survive(BINARY[:4] + data if has_magic else data, WEIGHTS)


@quick
@given(st.text(alphabet=st.sampled_from(' \n\r\t"=,-+.eE0123456789aB#é'), max_size=200))
def test_random_text(text: str) -> None:
    """Behind a good header, so that it gets to the layers."""
    survive(b"7767517\n2 2\nInput data 0 1 data " + text.encode(), WEIGHTS)


@quick
@given(EDITS)
def test_edited_text(edits: list[tuple[float, int, bytes]]) -> None:
    """A good file with some wrong places."""
    survive(edited(TEXT, edits), WEIGHTS)


@quick
@given(EDITS)
def test_edited_binary(edits: list[tuple[float, int, bytes]]) -> None:
    """A good file with some wrong places."""
    survive(edited(BINARY, edits), WEIGHTS)


@quick
@given(EDITS)
def test_edited_weights(edits: list[tuple[float, int, bytes]]) -> None:
    """A good file with some wrong places."""
    survive(TEXT, edited(WEIGHTS, edits))


def test_the_unedited_files_are_good(tmp_path: Path) -> None:
    """Or the tests above would try little."""
    for data in (TEXT, BINARY):
        path = tmp_path / "net.param"
        path.write_bytes(data)
        read(path, random_weights=0).module.verify()


@pytest.mark.parametrize(
    "line",
    [
        "Noop n 2000000000 1 data",
        "Split s 1 2000000000 data a",
        "Dropout d 1 1 data a -23300=2000000000",
        "Dropout d 1 1 data a -23300=2000000000,1.",
        "MemoryData m 0 1 a 0=2000000000 1=2000000000",
    ],
)
def test_no_number_of_a_file_costs_memory(write: Callable[..., Path], line: str) -> None:
    """Counts are compared with what the file can hold first."""
    path = write(f"Input data 0 1 data\n{line}", bytes(100))
    tracemalloc.start()
    with pytest.raises(ModelError):
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
