"""Writes the .bin file of a network: the inverse of `read/weights.py`.

Layer by layer in the order of the module, the weights of a layer in the order it declares them. A
tag of four bytes stands before those that ncnn expects one for; these alone can be fp16. Every
buffer goes up to a multiple of four bytes.

Values come from their source piece by piece, so that a network may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.file_format import TAG_SIZE, TAGS
from ncc.dialects.ncnn.layer import Layer, Weight, WeightAttr
from ncc.dialects.weights.stored import Encoding

LARGEST_HALF = float(np.finfo(np.float16).max)

PIECE = 1 << 20
"""Values that are converted at a time."""


@dataclass(frozen=True)
class KeptWide:
    """A weight that was to be fp16 and is fp32, since one of its values is too large."""

    layer: str
    weight: str
    largest: float

    def __str__(self) -> str:
        return (
            f"weight {self.weight!r} of layer {self.layer!r} stays fp32: "
            f"{self.largest:g} is beyond fp16"
        )


def write_weights(layers: Iterable[Layer], file: BinaryIO, *, fp16: bool = False) -> list[KeptWide]:
    """Write every weight of the layers; returns those that could not be fp16.

    int8 stays int8; fp16 and codebook weights are widened to fp32 unless `fp16` asks for halves.
    """
    kept: list[KeptWide] = []
    for op in layers:
        for name, weight, held in weights_of(op):
            values = held.array().reshape(-1)
            narrow = fp16 and weight.tagged and values.dtype != np.int8
            if narrow and (largest := _largest(values)) > LARGEST_HALF:
                kept.append(KeptWide(op.layer_name, name, largest))
                narrow = False
            _write(file, values, weight.tagged, narrow)
    return kept


def weights_of(op: Layer) -> Iterator[tuple[str, Weight, WeightAttr]]:
    """The weights that a layer has, in the order of the file."""
    for name, weight in op.LAYER.weights.items():
        held = op.properties.get(name)
        if isinstance(held, WeightAttr):
            yield name, weight, held


def _write(file: BinaryIO, values: NDArray[np.generic], tagged: bool, narrow: bool) -> None:
    if values.dtype == np.int8:
        encoding, dtype = Encoding.INT8, "i1"
    elif narrow:
        encoding, dtype = Encoding.FP16, "<f2"
    else:
        encoding, dtype = Encoding.FP32, "<f4"
    if tagged:
        file.write(TAGS[encoding].to_bytes(TAG_SIZE, "little"))
    for piece in _pieces(values):
        file.write(np.ascontiguousarray(piece, dtype).data)
    file.write(bytes(-len(values) * np.dtype(dtype).itemsize % 4))


def _largest(values: NDArray[np.generic]) -> float:
    """The largest finite magnitude; infinities and NaNs are the same in fp16."""
    largest = 0.0
    for piece in _pieces(values):
        single = np.abs(piece.astype(np.float32))
        largest = max(largest, float(single[np.isfinite(single)].max(initial=0.0)))
    return largest


def _pieces(values: NDArray[np.generic]) -> Sequence[NDArray[np.generic]]:
    return [values[at : at + PIECE] for at in range(0, len(values), PIECE)]
