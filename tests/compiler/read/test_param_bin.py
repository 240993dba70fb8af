"""The binary form of .param."""

from __future__ import annotations

import struct

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.layer_types import LAYER_TYPES
from ncc.compiler.read.param_bin import is_binary, read_binary
from ncc.compiler.read.records import Graph, Spelling

INPUT, RELU = LAYER_TYPES.index("Input"), LAYER_TYPES.index("ReLU")
FIRST = (INPUT, 0, 1, 0, -233)
HEAD = (7767517, 2, 2, *FIRST)
RELU_HEAD = (*HEAD, RELU, 1, 1, 0, 1)


def parse(*words: int | bytes) -> Graph:
    data = b"".join(w if isinstance(w, bytes) else struct.pack("<i", w) for w in words)
    return read_binary("net.param.bin", data)


def problem(*words: int | bytes) -> str:
    with pytest.raises(ModelError) as caught:
        parse(*words)
    [found] = caught.value.problems
    return found.message


def test_types_have_the_numbers_of_ncnn() -> None:
    """110 types; the number of a type is its place in ncnn's registry."""
    assert len(LAYER_TYPES) == len(set(LAYER_TYPES)) == 110
    numbers = {"AbsVal": 0, "Input": 16, "LSTM": 39, "Gemm": 74, "GELU": 80, "RotaryEmbed": 109}
    assert {name: LAYER_TYPES.index(name) for name in numbers} == numbers


def test_the_first_word_tells_the_form() -> None:
    """The magic number as a word is binary; in digits it is text."""
    assert is_binary(struct.pack("<3i", 7767517, 1, 1))
    assert not is_binary(b"7767517\n1 1\n")
    assert not is_binary(b"")


def test_blobs_and_layers_are_named_by_their_numbers() -> None:
    """Names are lost in this form."""
    record = parse(*RELU_HEAD, -233).layers[1]
    assert (record.type.text, record.name.text) == ("ReLU", "1")
    assert [blob.text for blob in (*record.inputs, *record.outputs)] == ["0", "1"]
    assert record.position.offset == 32


def test_parameters_are_words_arrays_and_strings() -> None:
    """Numbers stay bits until a schema says what they are; strings are padded with zeros."""
    half = struct.pack("<f", 0.5)
    text = struct.pack("<2i", -23406, 5) + b"0w,0h\0\0\0"
    params = parse(*RELU_HEAD, 0, half, -23303, 2, 4, -1, text, -233).layers[1].params
    assert params[0].values == (0x3F000000,)
    assert (params[3].values, params[3].is_array) == ((4, -1), True)
    assert params[6].values == ("0w,0h",)
    assert [params[id].spelling for id in (0, 3, 6)] == [
        Spelling.WORD,
        Spelling.WORD,
        Spelling.STRING,
    ]


def test_the_first_and_the_last_that_there_can_be() -> None:
    """A type by number 0, a parameter by the largest, and the shortest and the longest string."""
    words = (-23400, 0, -23430, 255, b"x" * 255 + b"\0", 31, 7, -233)
    record = parse(*HEAD, 0, 1, 1, 0, 1, *words).layers[1]
    assert record.type.text == "AbsVal"
    assert {id: value.values for id, value in record.params.items()} == {
        0: ("",),
        30: ("x" * 255,),
        31: (7,),
    }


@pytest.mark.parametrize("length", range(0, 40, 3))
def test_a_file_cut_anywhere_is_an_error(length: int) -> None:
    """The message tells what should have come."""
    data = struct.pack("<15i", *RELU_HEAD, 0, -233)
    with pytest.raises(ModelError, match="ends too early|cannot hold|expected"):
        read_binary("net.param.bin", data[:length])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((7767516, 1, 1), "not an ncnn .param.bin"),
        ((7767517, 2**31 - 1, 2, *FIRST), "cannot hold 2147483647 layers"),
        ((7767517, 0, 2, *FIRST), "cannot hold 0 layers"),
        ((7767517, 1, -1, *FIRST), "at least one blob"),
        ((7767517, 1, 0, *FIRST), "at least one blob"),
        ((*HEAD, 110, 1, 1, 0, 1, -233), "unknown type"),
        ((*HEAD, -1, 1, 1, 0, 1, -233), "unknown type"),
        ((*HEAD, 256, 1, 1, 0, 1, -233), "custom type 0"),
        ((*HEAD, 258, 1, 1, 0, 1, -233), "custom type 2"),
        ((*HEAD, RELU, -1, 1, 0, 1, -233), "cannot be -1"),
        ((*HEAD, RELU, 1, 2**30, 0, 1, -233), "cannot be 1073741824"),
        ((*HEAD, RELU, 1, 1, -1, 1, -233), "names a blob that is not there"),
        ((*HEAD, RELU, 1, 1, 0, 2, -233), "names a blob that is not there"),
        ((*RELU_HEAD, 32, 0, -233), "id that does not exist"),
        ((*RELU_HEAD, -5, 0, -233), "id that does not exist"),
        ((*RELU_HEAD, -23340, 1, 0, -233), "id that does not exist"),
        ((*RELU_HEAD, -23300, -1, -233), "cannot be -1"),
        ((*RELU_HEAD, -23300, 2**30, 1, -233), "cannot be 1073741824"),
        ((*RELU_HEAD, -23400, 256, b"x" * 256, -233), "cannot be a string of 256 bytes"),
        ((*RELU_HEAD, -23400, -1, -233), "cannot be a string of -1 bytes"),
        ((*RELU_HEAD, -23400, -8, -233), "cannot be a string of -8 bytes"),
        ((*RELU_HEAD, -23400, 8, -233), "cannot be a string of 8 bytes"),
        ((*RELU_HEAD, -23400, 2, b"\xff\xff\0\0", -233), "not a string in UTF-8"),
        ((*RELU_HEAD, 0, 1), "ends too early"),
        ((*RELU_HEAD, -23400, 4, b"0w0h"), "ends too early"),
        ((*RELU_HEAD, -23300, 1, 5), "ends too early"),
    ],
)
def test_a_broken_word_is_an_error(words: tuple[int | bytes, ...], message: str) -> None:
    """No number of the file is trusted before it is compared with what the file holds."""
    assert message in problem(*words)


@pytest.mark.parametrize("type", [110, 258])
def test_an_unknown_type_is_known_by_its_name(type: int) -> None:
    """The binary form has its number alone: the error tells where the name stands."""
    with pytest.raises(ModelError, match="to go on: give the .param that was made"):
        parse(*HEAD, type, 1, 1, 0, 1, -233)


def test_what_follows_is_ignored_with_a_warning() -> None:
    """As in the text form."""
    [warning] = parse(*RELU_HEAD, -233, 1, 2).warnings
    assert "8 bytes behind the last layer" in warning
