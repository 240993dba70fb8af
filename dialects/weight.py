"""Weights as attributes: where the numbers are, not the numbers.

A weight is a shape and a source. A source in a file is mapped when it is asked for, never copied
into the IR, so that a module of a 500 MB network prints, clones and compares at once.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType, bf16, f32, i8, i32
from xdsl.ir import Attribute, Data
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from ncc.dialects.element import bfloat16_halves

Array: TypeAlias = NDArray[Any]
Shape: TypeAlias = tuple[int, ...]


class Encoding(StrEnum):
    """How ncnn stores the values of one buffer in a .bin file."""

    FP32 = "fp32"
    FP16 = "fp16"
    INT8 = "int8"
    CODEBOOK = "codebook"  # 256 fp32 values, then one index byte a value


@dataclass(frozen=True)
class Stored:
    """Values in a file, from a byte offset behind any tag."""

    path: str
    offset: int
    encoding: Encoding = Encoding.FP32

    def read(self, count: int) -> Array:
        """`count` values as they are stored: a view of the mapped file where that is possible."""
        data = _mapped(self.path, *_identity(self.path))
        match self.encoding:
            case Encoding.FP32:
                return np.frombuffer(data, "<f4", count, self.offset)
            case Encoding.FP16:
                return np.frombuffer(data, "<f2", count, self.offset).astype(np.float32)
            case Encoding.INT8:
                return np.frombuffer(data, np.int8, count, self.offset)
            case Encoding.CODEBOOK:
                table = np.frombuffer(data, "<f4", 256, self.offset)
                return table[np.frombuffer(data, np.uint8, count, self.offset + 1024)]


@dataclass(frozen=True)
class Inline:
    """Values that a rewrite computed: the bytes themselves."""

    data: bytes
    dtype: str = "f4"

    def read(self, count: int) -> Array:
        return np.frombuffer(self.data, "<" + self.dtype, count)


@dataclass(frozen=True)
class Random:
    """Values of a seed, the same on every machine: normal, `mean + scale * n`, or any bytes ("i1").

    What is normal is float32; bytes are int8, all equally likely.
    """

    seed: int
    stream: int
    scale: float = 1.0
    mean: float = 0.0
    dtype: str = "f4"

    def read(self, count: int) -> Array:
        generator = np.random.default_rng([self.seed, self.stream])
        if self.dtype == "i1":
            return generator.integers(-128, 128, count, np.int8)
        values = generator.standard_normal(count, np.float32)
        return values * np.float32(self.scale) + np.float32(self.mean)


@dataclass(frozen=True)
class Blocked:
    """Another weight in blocks: each axis of `axes` is rounded up to whole blocks with zeros and
    split; the inner axes come last, in this order. (64, 3, 3, 3) by axis 0 is (4, 3, 3, 3, 16).
    """

    of: Weights
    axes: tuple[int, ...]
    block: int

    def read(self, count: int) -> Array:
        return self.array().ravel()[:count]

    def array(self) -> Array:
        """The blocks as a view of the plain values, where these fill whole blocks."""
        plain = self.of.array()
        rest = [
            -plain.shape[axis] % self.block if axis in self.axes else 0
            for axis in range(plain.ndim)
        ]
        padded = np.pad(plain, [(0, n) for n in rest]) if any(rest) else plain
        split: list[int] = []
        outer: list[int] = []
        inner: dict[int, int] = {}
        for axis, extent in enumerate(padded.shape):
            outer.append(len(split))
            split.append(extent // self.block if axis in self.axes else extent)
            if axis in self.axes:
                inner[axis] = len(split)
                split.append(self.block)
        order = [*outer, *(inner[axis] for axis in self.axes)]
        return padded.reshape(split).transpose(order)


# Few enough that the products stay in the cache, and that BLAS starts no threads for them: it
# would lose more by waiting for a thread, on a busy machine, than it wins.
_TRANSFORMED_AT_ONCE = 512


@dataclass(frozen=True)
class Transformed:
    """Another weight, its last two axes transformed: `m @ w @ m.T` for a matrix m with `rows`.

    The transformed axes come first: with 6 rows, (64, 32, 3, 3) becomes (6, 6, 64, 32). Computed
    in float64.
    """

    of: Weights
    rows: tuple[tuple[float, ...], ...]

    def read(self, count: int) -> Array:
        matrix = np.array(self.rows, np.float64)
        both = np.kron(matrix, matrix)
        plain = self.of.array()
        windows = plain.reshape(-1, prod(plain.shape[-2:]))
        made = np.empty((len(both), len(windows)), np.float32)
        for start in range(0, len(windows), _TRANSFORMED_AT_ONCE):
            part = slice(start, start + _TRANSFORMED_AT_ONCE)
            made[:, part] = both @ windows[part].astype(np.float64).T
        return made.ravel()[:count]


_DEQUANTIZED_AT_ONCE = 1 << 20
"""Numbers that are unpacked at a time: what lies between takes several times their memory."""


@dataclass(frozen=True)
class Dequantized:
    """Rows of whole numbers of `bits` bits, every `block` of a row divided by a scale of its own.

    `of` (rows, bytes) holds them low bits first, in two's complement; `scales` is (rows, blocks).
    A value is q * (1 / scale), each of both steps rounded to float32.
    """

    of: Weights
    scales: Weights
    bits: int
    block: int

    def read(self, count: int) -> Array:
        rows = self.of.shape[0]
        columns = count // rows
        packed, inverse = self.of.array(), np.float32(1) / self.scales.array()
        values = np.empty((rows, columns), np.float32)
        step = max(1, _DEQUANTIZED_AT_ONCE // columns)
        for start in range(0, rows, step):
            part = slice(start, start + step)
            factors = np.repeat(inverse[part], self.block, axis=1)[:, :columns]
            values[part] = unpack_integers(packed[part], self.bits, columns) * factors
        return values.ravel()


def unpack_integers(packed: Array, bits: int, columns: int) -> Array:
    """The int8 (rows, columns) whose lowest `bits` bits stand one behind the other in each row.

    packed: int8 (rows, bytes); the first number has the lowest bits of the first byte. bits: up to
    8.
    """
    wide = np.pad(packed.view(np.uint8), [(0, 0), (0, 1)]).astype(np.uint16)
    first = np.arange(columns) * bits
    pairs = wide[:, first // 8] | wide[:, first // 8 + 1] << 8
    fields = (pairs >> (first % 8).astype(np.uint16)).astype(np.int16) & (2**bits - 1)
    sign = 1 << bits - 1
    return np.asarray((fields ^ sign) - sign, np.int8)


@dataclass(frozen=True)
class Paired:
    """The int8 values of another weight, two in an int32, its last two axes turned.

    (..., rows, columns) becomes (..., half, rows) with half the columns, rounded up: low bits are
    those of column k, high bits those of column half + k, or of a zero where there is none.
    """

    of: Weights

    def read(self, count: int) -> Array:
        plain = np.swapaxes(self.of.array(), -1, -2).astype(np.int32)
        half = -(-plain.shape[-2] // 2)
        paired = plain[..., :half, :] & 0xFFFF
        above = plain[..., half:, :]
        paired[..., : above.shape[-2], :] |= above << 16
        return paired.ravel()[:count]


@dataclass(frozen=True)
class Bits:
    """The float32 values of another weight taken for int32, bit by bit."""

    of: Weights

    def read(self, count: int) -> Array:
        return np.ascontiguousarray(self.of.array()).view(np.int32).ravel()[:count]


@dataclass(frozen=True)
class Halves:
    """Another weight as the sum of two bfloat16, of which the first is the nearest one.

    (.., k, o, q) becomes (.., 2, k, o, q). The second half of what is not finite is 0.
    """

    of: Weights

    def read(self, count: int) -> Array:
        plain = self.of.array()
        made = np.empty((*plain.shape[:-3], 2, *plain.shape[-3:]), np.uint16)
        for at in np.ndindex(plain.shape[:-3][:1]):  # as much as caches hold, or little more
            high, low = bfloat16_halves(plain[at])
            made[at][..., 0, :, :, :], made[at][..., 1, :, :, :] = high, low
        return made.ravel()[:count]


Source: TypeAlias = (
    Stored | Inline | Random | Blocked | Transformed | Dequantized | Paired | Bits | Halves
)


@dataclass(frozen=True)
class Weights:
    """A shape (numpy order) and where its values are."""

    shape: Shape
    source: Source

    @property
    def element_type(self) -> Attribute:
        """int8 where that is stored, int32 of pairs and bits, bfloat16 of halves, else float32."""
        match self.source:
            case Stored(encoding=Encoding.INT8) | Inline(dtype="i1") | Random(dtype="i1"):
                return i8
            case Blocked(of=of):
                return of.element_type
            case Paired() | Bits():
                return i32
            case Halves():
                return bf16
        return f32

    def array(self) -> Array:
        """The values in this shape, with any strides; read-only where they view the file."""
        if isinstance(self.source, Blocked):
            return self.source.array()
        return self.source.read(prod(self.shape)).reshape(self.shape)

    def blocked(self, axes: tuple[int, ...], block: int) -> Weights:
        """These values in blocks along some axes; see `Blocked`."""
        shape = [-(-n // block) if axis in axes else n for axis, n in enumerate(self.shape)]
        return Weights((*shape, *[block] * len(axes)), Blocked(self, axes, block))

    def dequantized(self, scales: Weights, bits: int, block: int, columns: int) -> Weights:
        """The rows of `columns` numbers that these bytes hold; see `Dequantized`."""
        return Weights((self.shape[0], columns), Dequantized(self, scales, bits, block))

    def paired(self) -> Weights:
        """Two int8 values in an int32; see `Paired`."""
        *outer, rows, columns = self.shape
        return Weights((*outer, -(-columns // 2), rows), Paired(self))

    def bits(self) -> Weights:
        """What these float32 values are as int32; see `Bits`."""
        return Weights(self.shape, Bits(self))

    def halves(self) -> Weights:
        """Two bfloat16 for each value; see `Halves`."""
        return Weights((*self.shape[:-3], 2, *self.shape[-3:]), Halves(self))

    def transformed(self, rows: tuple[tuple[float, ...], ...]) -> Weights:
        """These values with their last two axes transformed; see `Transformed`."""
        shape = (len(rows), len(rows), *self.shape[:-2])
        return Weights(shape, Transformed(self, rows))


def _identity(path: str) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _mapped(path: str, _changed: int, _size: int) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@irdl_attr_definition
class WeightAttr(Data[Weights]):
    """The values of one weight of a layer.

    ```mlir
    #ncnn.weight<[64, 3, 3, 3] stored "net.bin" 4 "fp32">
    #ncnn.weight<[2] inline "f4" "0000803f0000003f">
    #ncnn.weight<[64, 3, 3, 3] random 7 0 1.0 0.0>
    #ncnn.weight<[4, 3, 3, 3, 16] blocked [0] 16 of <[64, 3, 3, 3] random 7 0 1.0 0.0>>
    #ncnn.weight<[3, 4] paired of <[4, 6] inline "i1" "07..">>
    #ncnn.weight<[3] bits of <[3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[4, 2, 16, 16, 2] halves of <[4, 16, 16, 2] random 7 0 1.0 0.0>>
    #ncnn.weight<[4, 9] dequantized 6 32 <[4, 1] random 7 1 1.0 9.0> of <[4, 7] inline "i1" "07..">>
    #ncnn.weight<[2, 2, 64] transformed [[1.0, 0.5], [0.0, 1.0]] of <[64, 2, 2] random 7 0 1.0 0.0>>
    ```
    """

    name = "ncnn.weight"

    @staticmethod
    def of(array: Array) -> WeightAttr:
        """The values of a numpy array, inline; floats become float32, int8 stays."""
        kept = array if array.dtype == np.int8 else np.asarray(array, np.float32)
        dtype = "i1" if kept.dtype == np.int8 else "f4"
        return WeightAttr(Weights(tuple(kept.shape), Inline(kept.tobytes(), dtype)))

    @property
    def shape(self) -> Shape:
        return self.data.shape

    def array(self) -> Array:
        """The values in the weight's shape; read-only where they are a view of the file."""
        return self.data.array()

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Weights:
        with parser.in_angle_brackets():
            shape = _parse_integers(parser)
            if parser.parse_optional_keyword("blocked"):
                axes, block = _parse_integers(parser), parser.parse_integer()
                parser.parse_keyword("of")
                return Weights(shape, Blocked(cls.parse_parameter(parser), axes, block))
            if parser.parse_optional_keyword("paired"):
                parser.parse_keyword("of")
                return cls.parse_parameter(parser).paired()
            if parser.parse_optional_keyword("bits"):
                parser.parse_keyword("of")
                return cls.parse_parameter(parser).bits()
            if parser.parse_optional_keyword("halves"):
                parser.parse_keyword("of")
                return cls.parse_parameter(parser).halves()
            if parser.parse_optional_keyword("transformed"):
                rows = _parse_rows(parser)
                parser.parse_keyword("of")
                return Weights(shape, Transformed(cls.parse_parameter(parser), rows))
            if parser.parse_optional_keyword("dequantized"):
                bits, block = parser.parse_integer(), parser.parse_integer()
                scales = cls.parse_parameter(parser)
                parser.parse_keyword("of")
                return cls.parse_parameter(parser).dequantized(scales, bits, block, shape[1])
            if parser.parse_optional_keyword("stored"):
                path = parser.parse_str_literal()
                offset = parser.parse_integer()
                return Weights(shape, Stored(path, offset, Encoding(parser.parse_str_literal())))
            if parser.parse_optional_keyword("inline"):
                dtype = parser.parse_str_literal()
                return Weights(shape, Inline(bytes.fromhex(parser.parse_str_literal()), dtype))
            parser.parse_keyword("random")
            seed, stream = parser.parse_integer(), parser.parse_integer()
            scale, mean = float(parser.parse_number()), float(parser.parse_number())
            dtype = parser.parse_optional_str_literal() or "f4"
            return Weights(shape, Random(seed, stream, scale, mean, dtype))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"[{', '.join(map(str, self.data.shape))}] ")
            match self.data.source:
                case Blocked(of, axes, block):
                    printer.print_string(f"blocked [{', '.join(map(str, axes))}] {block} of ")
                    WeightAttr(of).print_parameter(printer)
                case Transformed(of, rows):
                    shown = ", ".join(f"[{', '.join(map(repr, row))}]" for row in rows)
                    printer.print_string(f"transformed [{shown}] of ")
                    WeightAttr(of).print_parameter(printer)
                case Paired(of):
                    printer.print_string("paired of ")
                    WeightAttr(of).print_parameter(printer)
                case Bits(of):
                    printer.print_string("bits of ")
                    WeightAttr(of).print_parameter(printer)
                case Halves(of):
                    printer.print_string("halves of ")
                    WeightAttr(of).print_parameter(printer)
                case Dequantized(of, scales, bits, block):
                    printer.print_string(f"dequantized {bits} {block} ")
                    WeightAttr(scales).print_parameter(printer)
                    printer.print_string(" of ")
                    WeightAttr(of).print_parameter(printer)
                case Stored(path, offset, encoding):
                    printer.print_string("stored ")
                    printer.print_string_literal(path)
                    printer.print_string(f" {offset} ")
                    printer.print_string_literal(encoding.value)
                case Inline(data, dtype):
                    printer.print_string(f'inline "{dtype}" "{data.hex()}"')
                case Random(seed, stream, scale, mean, dtype):
                    printer.print_string(f"random {seed} {stream} {scale!r} {mean!r}")
                    printer.print_string("" if dtype == "f4" else f' "{dtype}"')


def _parse_integers(parser: AttrParser) -> tuple[int, ...]:
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
        )
    )


def _parse_rows(parser: AttrParser) -> tuple[tuple[float, ...], ...]:
    def row() -> tuple[float, ...]:
        numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_number)
        return tuple(map(float, numbers))

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, row))


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A weight as a tensor of the structured level."""

    name = "ncnn.constant"

    value = prop_def(WeightAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: WeightAttr) -> None:
        kind = TensorType(value.data.element_type, list(value.shape))
        super().__init__(properties={"value": value}, result_types=[kind])
