"""Constants of ncnn's file formats, for readers and writers."""

from __future__ import annotations

from collections.abc import Mapping

from ncc.dialects.weights.stored import Encoding

MAGIC = 7767517
"""The first word of a .param file, and of a .param.bin file."""

LONGEST_NAME = 255
"""Bytes of a layer type, a name, a string."""

LARGEST_PARAM_ID = 31

SHAPE_HINTS = 30
"""The id under which a layer tells the shapes of its outputs."""

ARRAY = -23300
"""`-23300 - id` is the key of an array that tells its length first."""

TAG_SIZE = 4

TAGS: Mapping[Encoding, int] = {
    Encoding.FP32: 0,
    Encoding.FP16: 0x01306B47,
    Encoding.INT8: 0x000D4B38,
}
"""The tags before values in a .bin file; any other number is the tag of a codebook."""
