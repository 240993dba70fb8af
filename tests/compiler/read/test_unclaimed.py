"""Finding the weights of a layer of an unknown type among those of known ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ncc.compiler.read.buffers import Buffer, encoding_of
from ncc.compiler.read.unclaimed import Items, unclaimed
from ncc.dialects.weights.stored import Encoding

TAGS = {
    Encoding.FP32: bytes(4),
    Encoding.FP16: (0x01306B47).to_bytes(4, "little"),
    Encoding.INT8: (0x000D4B38).to_bytes(4, "little"),
    Encoding.CODEBOOK: b"code",
}


def ways(items: Items, data: bytes) -> list[list[int]]:
    def encoding_at(at: int) -> Encoding | None:
        return encoding_of(data[at : at + 4]) if at + 4 <= len(data) else None

    return unclaimed(items, len(data), encoding_at)


def stored(buffer: Buffer, encoding: Encoding, seed: int = 1) -> bytes:
    """A buffer of random values, none of which is a tag."""
    tag = TAGS[encoding] if buffer.tagged else b""
    size = buffer.size(encoding) - len(tag)
    return tag + np.random.default_rng(seed).integers(1, 256, size, np.uint8).tobytes()


RAW, TAGGED = Buffer(5, False), Buffer(6, True)


def test_layers_of_unknown_types_have_no_weights_where_nothing_is_left() -> None:
    """Whatever the encodings of the known ones are."""
    for encoding in Encoding:
        data = stored(RAW, Encoding.FP32) + stored(TAGGED, encoding)
        assert ways([None, RAW, None, TAGGED], data) == [[0, 0]]


def test_bytes_left_over_are_found_between_front_and_end() -> None:
    """One layer has them; the tags behind it are looked for from the end."""
    for encoding in (Encoding.FP32, Encoding.FP16, Encoding.INT8):
        front = stored(TAGGED, encoding) + stored(RAW, Encoding.FP32)
        behind = stored(TAGGED, encoding, 2) + stored(RAW, Encoding.FP32, 3)
        content = stored(Buffer(7, False), Encoding.FP32, 4)
        items = [TAGGED, RAW, None, TAGGED, RAW]
        assert ways(items, front + content + behind) == [[28]]
        assert ways([TAGGED, RAW, None], front + content) == [[28]]
        assert ways([None, TAGGED, RAW], content + behind) == [[28]]


def test_of_two_layers_the_tags_tell_which_has_the_weights() -> None:
    """The known weights between them stand right behind the first, or right before the second."""
    between, content = stored(TAGGED, Encoding.FP16), stored(RAW, Encoding.FP32)
    assert ways([None, TAGGED, None], between + content) == [[0, 20]]
    assert ways([None, TAGGED, None], content + between) == [[20, 0]]


def test_what_nothing_tells_is_ambiguous() -> None:
    """Raw weights fit anywhere; two layers in a row share what is there."""
    content = stored(Buffer(10, False), Encoding.FP32)
    assert ways([None, RAW, None], content) == [[20, 0], [0, 20]]
    assert ways([None, None], content) == [[40, 0], [0, 40]]
    assert ways([RAW, TAGGED], content) == []


def test_an_int8_that_must_be_is_no_other() -> None:
    """Numbers packed into bytes have the tag of int8."""
    packed = Buffer(6, True, packed=True)
    assert ways([None, packed], stored(TAGGED, Encoding.INT8)) == [[0]]
    assert ways([None, packed], stored(TAGGED, Encoding.FP16)) == []


BUFFERS = st.tuples(st.integers(1, 40), st.booleans(), st.sampled_from(list(Encoding)[:3]))


@settings(max_examples=80)
@given(
    st.lists(BUFFERS, max_size=5),
    st.lists(BUFFERS, max_size=5),
    st.integers(0, 30),
    st.integers(0, 9),
)
def test_a_layer_with_weights_is_found(
    before: Sequence[tuple[int, bool, Encoding]],
    behind: Sequence[tuple[int, bool, Encoding]],
    words: int,
    seed: int,
) -> None:
    """Wherever it stands, and whatever stands around it, of fp32, fp16, int8."""

    def made(parts: Sequence[tuple[int, bool, Encoding]]) -> tuple[list[Buffer], bytes]:
        buffers = [Buffer(count, tagged) for count, tagged, _ in parts]
        pieces = [
            stored(buffer, encoding if buffer.tagged else Encoding.FP32, seed + k)
            for k, (buffer, (*_, encoding)) in enumerate(zip(buffers, parts, strict=True))
        ]
        return buffers, b"".join(pieces)

    (first, front), (last, end) = made(before), made(behind)
    content = stored(Buffer(words, False), Encoding.FP32, 99)
    assert ways([*first, None, *last], front + content + end) == [[4 * words]]
