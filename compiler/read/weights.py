"""The weights of a network -> where each of them is in the .bin file.

A .bin is a plain row of buffers without an index: layer by layer in file order, in each layer the
weights in the order its schema declares them. Sizes come from the params. A buffer is

    raw       n fp32
    tagged    a tag of 4 bytes, then by the tag, with zeros up to a multiple of 4 bytes:
              0, 0x0002C056    n fp32
              0x01306B47       n fp16
              0x000D4B38       n int8
              any other        a codebook: 256 fp32, then n bytes that are indices into it

Only the tags are read here: values stay in the file until somebody asks a `WeightAttr` for them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.records import LayerRecord, Source
from ncc.dialects.ncnn.layer import Layer, Weight
from ncc.dialects.weight import Encoding, Random, Shape, Stored, WeightAttr, Weights

TAGS: Mapping[int, Encoding] = {
    0: Encoding.FP32,
    0x0002C056: Encoding.FP32,
    0x01306B47: Encoding.FP16,
    0x000D4B38: Encoding.INT8,
}

TAG_SIZE = 4
CODEBOOK_SIZE = 256 * 4

_VALUE_SIZE = {
    Encoding.FP32: 4,
    Encoding.FP16: 2,
    Encoding.INT8: 1,
    Encoding.CODEBOOK: 1,
}


class WeightReader(Protocol):
    """Gives a layer its weights. Asked layer by layer, in file order."""

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]: ...


def declared_weights(
    source: Source, op: Layer, record: LayerRecord
) -> Iterator[tuple[Weight, Shape]]:
    """The weights this very layer has, with their shapes, in the order of the .bin file.

    Raises ModelError where the params give a shape that has no values.
    """
    for weight in op.LAYER.weights.values():
        shape = weight.shape(op)
        if shape is None:
            continue
        if any(extent <= 0 for extent in shape):
            raise source.error(
                f"{record} has no values for its weight {weight.name!r}",
                record.position,
                expected="positive extents from its parameters",
                found=_times(shape),
            )
        yield weight, shape


@dataclass
class StoredWeights:
    """Locates weights in an open .bin file. A context manager: the file is closed at its end."""

    source: Source  # the .param file, for diagnostics
    path: str
    file: BinaryIO
    size: int
    at: int = 0

    @classmethod
    def open(cls, source: Source, path: str | os.PathLike[str]) -> Self:
        """Raises ModelError where the file cannot be read."""
        name = os.fspath(path)
        try:
            file = open(name, "rb")
        except OSError as error:
            reason = error.strerror or str(error)
            raise Source(name).error(f"the weights cannot be read: {reason}") from None
        return cls(source, name, file, os.fstat(file.fileno()).st_size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]:
        """The next weights of the file. Raises ModelError where the file ends within them."""
        located = {}
        for weight, shape in declared_weights(self.source, op, record):
            start = self.at
            encoding = self._encoding(weight, shape, record)
            if weight.packed and encoding is not Encoding.INT8:
                raise self._not_bytes(weight, record, encoding)
            size = math.prod(shape) * _VALUE_SIZE[encoding]
            if encoding is Encoding.CODEBOOK:
                size += CODEBOOK_SIZE
            padded = -(-size // 4) * 4
            self._require(self.at - start + padded, start, weight, shape, record, encoding)
            stored = Stored(self.path, self.at, encoding)
            located[weight.name] = WeightAttr(Weights(shape, stored))
            self.at += padded
        return located

    def surplus(self) -> int:
        """How many bytes are left in the file."""
        return self.size - self.at

    def _encoding(self, weight: Weight, shape: Shape, record: LayerRecord) -> Encoding:
        if not weight.tagged:
            return Encoding.FP32
        self._require(TAG_SIZE, self.at, weight, shape, record, None)
        self.file.seek(self.at)
        tag = int.from_bytes(self.file.read(TAG_SIZE), "little")
        self.at += TAG_SIZE
        return TAGS.get(tag, Encoding.CODEBOOK)

    def _not_bytes(self, weight: Weight, record: LayerRecord, found: Encoding) -> ModelError:
        return self.source.error(
            f"weight {weight.name!r} of {record} holds numbers packed into bytes",
            record.position,
            expected=f"the tag of int8 in {self.path}",
            found=f"that of {found} at byte {self.at - TAG_SIZE}",
        )

    def _require(
        self,
        size: int,
        start: int,
        weight: Weight,
        shape: Shape,
        record: LayerRecord,
        encoding: Encoding | None,
    ) -> None:
        """The file goes on for `size` bytes behind `start`."""
        left = self.size - start
        if size <= left:
            return
        stored = "" if encoding is None else f" as {encoding}"
        note = (
            ", for its tag is none of fp32, fp16 and int8" if encoding is Encoding.CODEBOOK else ""
        )
        raise self.source.error(
            f"{self.path} ends within weight {weight.name!r} of {record}",
            record.position,
            expected=f"{size} bytes at byte {start} ({_times(shape)} values{stored}{note})",
            found=f"{left} bytes",
        )


@dataclass
class RandomWeights:
    """Makes up weights from a seed: the same for the same file, and harmless to compute with.

    Matrices and filters are normal with variance 1 / fan-in, so that values neither vanish nor
    grow on their way. Biases and means lie around 0; factors and variances around 1, and above 0.
    """

    source: Source
    seed: int
    stream: int = 0

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]:
        made = {}
        for weight, shape in declared_weights(self.source, op, record):
            scale, mean = self._distribution(op, weight, shape)
            dtype = "i1" if weight.packed else "f4"
            made[weight.name] = WeightAttr(
                Weights(shape, Random(self.seed, self.stream, scale, mean, dtype))
            )
            self.stream += 1
        return made

    @staticmethod
    def _distribution(op: Layer, weight: Weight, shape: Shape) -> tuple[float, float]:
        if weight.around is not None:
            mean = weight.around(op)
            return 0.1 * mean, mean
        is_offset = any(word in weight.name for word in ("bias", "mean", "beta"))
        if is_offset:
            return 0.1, 0.0
        if len(shape) == 1:
            return 0.1, 1.0
        return 1 / math.sqrt(math.prod(shape[1:])), 0.0


@dataclass
class NoWeights:
    """Stands for a .bin that is not there: fine as long as no layer asks for a weight."""

    source: Source
    missing: str

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]:
        for weight, _ in declared_weights(self.source, op, record):
            raise self.source.error(
                f"{record} has the weight {weight.name!r}, but there is no file {self.missing}",
                record.position,
                expected="a .bin file beside the .param file, its path, or random weights",
            )
        return {}


def _times(shape: Shape) -> str:
    return "x".join(map(str, shape))
