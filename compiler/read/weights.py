"""Finds the position of each weight in the .bin file.

A .bin is a plain row of buffers without an index: layer by layer in file order, in each layer the
weights in the order its schema declares them. Sizes come from the params. `buffers.py`
parses a buffer; `unclaimed.py` finds the bytes of layers of unknown types.

This file reads only the tags: values stay in the file until a `WeightAttr` is asked for them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol, Self, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.buffers import Buffer, encoding_of
from ncc.compiler.read.foreign import foreign, unreadable
from ncc.compiler.read.plausible import StoredNumbers, faults
from ncc.compiler.read.records import LayerRecord, Source
from ncc.compiler.read.unclaimed import unclaimed
from ncc.dialects.ncnn.file_format import TAG_SIZE
from ncc.dialects.ncnn.layer import Layer, Weight
from ncc.dialects.ncnn.opaque import OpaqueOp
from ncc.dialects.shapes import Shape, shown
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.stored import Encoding, Piece, Stored, note
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime import memory_limit
from ncc.runtime.file_kinds import BIN, HEAD
from ncc.runtime.memory_files import shown_path

PUT_AS_THEY_ARE = ("per_channel_pad_data",)
"""Weights that are put beside others, not computed with: infinity is one of their values."""

FEW_BYTES = 1 << 26
"""Random weights that any machine has room for."""

COPIES_OF_ALL, COPIES_OF_ONE = 2, 5
"""How many times random weights are in memory at once, at most: all of them packed beside the made
ones; one that is being packed in every form between the two, too.
"""

Layers: TypeAlias = Sequence[tuple[Layer, LayerRecord]]


class WeightReader(Protocol):
    """Gives a layer its weights. Asked layer by layer, in file order, after `prepare`."""

    def prepare(self, layers: Layers) -> None: ...

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
                found=shown(shape),
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
    opaque: dict[Layer, int] = field(default_factory=dict)
    """The bytes of layers of unknown types."""
    located: dict[StoredNumbers, str] = field(default_factory=dict)
    """What computes, of all that was found in the file; and what a warning of it begins with."""

    @classmethod
    def open(cls, source: Source, path: str | os.PathLike[str]) -> Self:
        """Raises ModelError where the file cannot be read, or holds something else."""
        name = os.fspath(path)
        try:
            file = open(name, "rb")
        except OSError as error:
            raise unreadable(name, BIN, error) from None
        if not file.seekable():
            file.close()
            source = Source(shown_path(name))
            raise source.error("the weights cannot be read: they must lie in a file, no pipe")
        if (other := foreign(name, file.read(HEAD), BIN)) is not None:
            file.close()
            raise other
        return cls(source, name, file, os.fstat(file.fileno()).st_size)

    @property
    def shown(self) -> str:
        """The name of the file for people."""
        return shown_path(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def prepare(self, layers: Layers) -> None:
        """Find the weights of layers of unknown types.

        Raises ModelError where it cannot be told which bytes they are.
        """
        unknown = [(op, record) for op, record in layers if isinstance(op, OpaqueOp)]
        if not unknown:
            return
        items: list[Buffer | None] = []
        for op, record in layers:
            if isinstance(op, OpaqueOp):
                items.append(None)
                continue
            for weight, shape in declared_weights(self.source, op, record):
                items.append(Buffer(math.prod(shape), weight.tagged, weight.packed))
        ways = unclaimed(items, self.size, self._encoding_at)
        least = sum(min(map(item.size, item.encodings)) for item in items if item is not None)
        if not ways and self.size < least:
            return  # where the file ends is told when its weights are read
        if len(ways) != 1:
            raise self._undecided(unknown[0][1], len(ways))
        self.opaque = {op: size for (op, _), size in zip(unknown, ways[0], strict=True)}

    def _undecided(self, record: LayerRecord, ways: int) -> ModelError:
        found = f"{ways} places that fit" if ways else "no place that fits the known layers"
        return ModelError(
            self.source.problem(
                f"which bytes of {self.shown} are weights of layers of unknown types cannot be "
                f"told; {record} is the first of them",
                record.position,
                expected="one such layer with weights, and all others in their places",
                found=found,
                how="declare the type in a class with its params and weights (CONTRIBUTING.md: a "
                "layer from outside)",
            )
        )

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]:
        """The next weights of the file. Raises ModelError where the file ends within them."""
        if size := self.opaque.get(op):
            content = Weights((size,), Stored(self.path, self.at, Encoding.INT8))
            self.at += size
            return {"content": WeightAttr(content)}
        located = {}
        for weight, shape in declared_weights(self.source, op, record):
            start = self.at
            encoding = self._encoding(weight, shape, record)
            if weight.packed and encoding is not Encoding.INT8:
                raise self._not_bytes(weight, record, encoding)
            buffer = Buffer(math.prod(shape), weight.tagged, weight.packed)
            size = buffer.size(encoding)
            self._require(size, start, weight, shape, record, encoding)
            stored = Stored(self.path, self.at, encoding)
            located[weight.name] = WeightAttr(Weights(shape, stored))
            self.at = start + size
            if record.inputs and weight.name not in PUT_AS_THEY_ARE:
                numbers = StoredNumbers.of(stored, buffer.count, _multiplies(weight, shape))
                place = self.source.warning(f"weight {weight.name!r} of {record}", record.position)
                self.located[numbers] = place
        return located

    def implausible(self) -> tuple[str, ...]:
        """A warning of each weight that a broken conversion must have left."""
        return tuple(f"{self.located[numbers]} {why}" for numbers, why in faults(self.located))

    def surplus(self) -> int:
        """How many bytes are left in the file."""
        return self.size - self.at

    def _encoding(self, weight: Weight, shape: Shape, record: LayerRecord) -> Encoding:
        if not weight.tagged:
            return Encoding.FP32
        self._require(TAG_SIZE, self.at, weight, shape, record, None)
        encoding = self._encoding_at(self.at)
        self.at += TAG_SIZE
        return encoding or Encoding.CODEBOOK

    def _encoding_at(self, position: int) -> Encoding | None:
        """What the tag at a position says; None where the file ends within it."""
        note(Piece(self.path, position, TAG_SIZE))
        self.file.seek(position)
        tag = self.file.read(TAG_SIZE)
        return encoding_of(tag) if len(tag) == TAG_SIZE else None

    def _not_bytes(self, weight: Weight, record: LayerRecord, found: Encoding) -> ModelError:
        return self.source.error(
            f"weight {weight.name!r} of {record} holds numbers packed into bytes",
            record.position,
            expected=f"the tag of int8 in {self.shown}",
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
            f"{self.shown} ends within weight {weight.name!r} of {record}",
            record.position,
            expected=f"{size} bytes at byte {start} ({shown(shape)} values{stored}{note})",
            found=f"{left} bytes",
        )


def _multiplies(weight: Weight, shape: Shape) -> bool:
    """Whether a weight is filters or a matrix of numbers."""
    named = "weight" in weight.name or weight.name in ("A_data", "B_data")
    return weight.tagged and named and not weight.packed and len(shape) > 1


@dataclass
class RandomWeights:
    """Makes up weights from a seed: the same for the same file, and harmless to compute with.

    Matrices and filters are normal with variance 1 / fan-in, so that values neither vanish nor
    grow on their way. Biases and means lie around 0; factors and variances around 1, and above 0.
    No file bounds how many there are: half of the memory at hand does, since they are packed, too.
    """

    source: Source
    seed: int
    stream: int = 0
    bytes: int = 0

    def prepare(self, layers: Layers) -> None:
        """Layers of unknown types get no weights."""

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]:
        made = {}
        for weight, shape in declared_weights(self.source, op, record):
            self._count(weight, shape, record)
            scale, mean = self._distribution(op, weight, shape)
            dtype = "i1" if weight.packed else "f4"
            made[weight.name] = WeightAttr(
                Weights(shape, Random(self.seed, self.stream, scale, mean, dtype))
            )
            self.stream += 1
        return made

    def _count(self, weight: Weight, shape: Shape, record: LayerRecord) -> None:
        """Raise ModelError where the weights so far are too many."""
        size = math.prod(shape) * (1 if weight.packed else 4)
        self.bytes += size
        needed = max(COPIES_OF_ALL * self.bytes, COPIES_OF_ONE * size)
        if self.bytes > FEW_BYTES and needed > memory_limit.at_hand():
            raise self.source.error(
                f"no memory holds the random weights up to {weight.name!r} of {record}, which is "
                f"{shown(shape)}",
                record.position,
            )

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

    def prepare(self, layers: Layers) -> None:
        """Layers of unknown types get no weights."""

    def weights_of(self, op: Layer, record: LayerRecord) -> dict[str, WeightAttr]:
        for weight, _ in declared_weights(self.source, op, record):
            raise self.source.error(
                f"{record} has the weight {weight.name!r}, but there is no file {self.missing}",
                record.position,
                expected="a .bin file beside the .param file, its path, or random weights "
                "(--random-weights 0, for `ncc optimize` and `ncc explain` null as the .bin; in "
                "Python, random_weights=0)",
            )
        return {}


def stay_where_named(module: ModuleOp) -> None:
    """Weights of a network that was just read, where they are now also from another folder."""
    for op in module.walk():
        for name, held in op.properties.items():
            if isinstance(held, WeightAttr) and isinstance(stored := held.data.source, Stored):
                named = replace(stored, path=_absolute(stored.path))
                op.properties[name] = WeightAttr(replace(held.data, source=named))


def _absolute(path: str) -> str:
    """The same path wherever this process works; that of a file in memory stays alive."""
    return path if os.path.isabs(path) else os.path.abspath(path)
