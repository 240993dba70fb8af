"""One buffer of a .bin file: its tag, its type and its size in bytes.

raw       n fp32
tagged    a tag of 4 bytes, then by the tag, with zeros up to a multiple of 4 bytes:
          0, 0x0002C056    n fp32
          0x01306B47       n fp16
          0x000D4B38       n int8
          any other        a codebook: 256 fp32, then n bytes that are indices into it
"""

from __future__ import annotations

from dataclasses import dataclass

from ncc.dialects.ncnn.file_format import TAG_SIZE, TAGS
from ncc.dialects.weights.stored import Encoding

_ENCODINGS = {0x0002C056: Encoding.FP32} | {tag: encoding for encoding, tag in TAGS.items()}


def encoding_of(tag: bytes) -> Encoding:
    """The meaning of the four bytes of a tag."""
    return _ENCODINGS.get(int.from_bytes(tag, "little"), Encoding.CODEBOOK)


@dataclass(frozen=True)
class Buffer:
    """A buffer of `count` values; `packed` ones hold numbers in bytes."""

    count: int
    tagged: bool
    packed: bool = False

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """Those that it may have."""
        if not self.tagged:
            return (Encoding.FP32,)
        return (Encoding.INT8,) if self.packed else tuple(Encoding)

    def size(self, encoding: Encoding) -> int:
        """Its bytes in the file, with the tag and up to a multiple of 4."""
        values = encoding.bytes_of(self.count)
        return TAG_SIZE * self.tagged + -(-values // 4) * 4
