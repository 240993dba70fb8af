"""A network that grows line by line, and knows what every blob holds.

The references run while it grows: what is not finite, too large, or refused by a layer is taken
back, so that what ncnn and ncc make of the network can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.test import TestOp

from ncc.compiler.diagnostics import NccError
from ncc.dialects.bfloat16 import from_bfloat16
from ncc.dialects.element import element_of_dtype
from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.layer import LAYERS, Array, LayerError, Param, ParamValue, WeightAttr

Params: TypeAlias = Mapping[str, ParamValue]

T = TypeVar("T")

LARGEST_VALUE = 1e3
SMALLEST_MAXIMUM = 1e-2
"""What is smaller all over may be left of a difference of equals: rounding, and nothing else."""

TAG_INT8 = (0x000D4B38).to_bytes(4, "little")

MOST_ELEMENTS = 6000
MOST_LAYERS = 25
MOST_ATTEMPTS = 500


class Rejected(Exception):
    """A motif does not fit where it was tried."""


@dataclass(frozen=True)
class Line:
    """One layer of the file, with its weights as they stand in the .bin."""

    type: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: str = ""
    weights: bytes = b""

    def __str__(self) -> str:
        counts = f"{len(self.inputs)} {len(self.outputs)}"
        words = [self.type, self.name, counts, *self.inputs, *self.outputs, self.params]
        return " ".join(filter(None, words))


@dataclass
class Growth:
    """A network while it grows. values: what each blob holds, of so many elements at most."""

    rng: np.random.Generator
    most_elements: int = MOST_ELEMENTS
    lines: list[Line] = field(default_factory=list)
    values: dict[str, Array] = field(default_factory=dict)
    feeds: dict[str, Array] = field(default_factory=dict)
    last_name: int = 0

    # --- choices ---

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(len(options)))]

    def number(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def real(self, least: float = -1.5, most: float = 1.5) -> float:
        return float(np.float32(self.rng.uniform(least, most)))

    def shape(self, blob: str) -> tuple[int, ...]:
        return self.values[blob].shape

    def unused_inputs(self) -> list[str]:
        read = {blob for line in self.lines for blob in line.inputs}
        return [name for name in self.feeds if name not in read]

    def like(self, blob: str) -> str:
        """A blob of the same shape, maybe the same blob."""
        return self.pick([b for b in self.values if self.shape(b) == self.shape(blob)])

    # --- growing ---

    def name(self, type: str) -> str:
        self.last_name += 1
        return f"{type.lower()}{self.last_name}"

    def input(self, rank: int) -> str:
        outer = self.pick([1, 2, 3, 4, 8, 16])
        shape = {
            1: (self.pick([1, 5, 16, 24]),),
            2: (outer, self.number(1, 12)),
            3: (outer, self.number(1, 9), self.number(1, 9)),
            4: (outer, self.number(2, 4), self.number(2, 6), self.number(2, 6)),
        }[rank]
        return self.fed(self.random(shape))

    def fed(self, array: Array) -> str:
        """An input that holds these values."""
        [name] = self.add("Input", (), extents(array.shape), value=array)
        self.feeds[name] = array
        return name

    def take_back(self, name: str) -> None:
        """Forget an input that nothing reads."""
        self.lines = [line for line in self.lines if name not in line.outputs]
        del self.values[name], self.feeds[name]

    def random(self, shape: Sequence[int]) -> Array:
        return self.rng.uniform(-1.5, 1.5, shape).astype(np.float32)

    def constant(self, array: Array) -> str:
        [name] = self.add("MemoryData", (), extents(array.shape), fill={"data": array})
        return name

    def one(self, type: str, /, *inputs: str, **params: ParamValue) -> str:
        """A layer of one output."""
        [name] = self.add(type, inputs, params)
        return name

    def add(
        self,
        type: str,
        inputs: Sequence[str],
        params: Params,
        outputs: int = 1,
        fill: Mapping[str, Array] | None = None,
        value: Array | None = None,
    ) -> tuple[str, ...]:
        """A layer with random weights; `fill` gives some of them, `value` what an Input holds."""
        cls, name = LAYERS[type], self.name(type)
        arrays = [self.values[blob] for blob in inputs]
        if type == "Pooling" and arrays[0].ndim < 3:
            raise Rejected  # ncnn pools vectors and matrices in blocks of channels, and wrongly
        elements = [element_of_dtype(array.dtype) for array in arrays]
        kinds = [TensorType(e, a.shape) for e, a in zip(elements, arrays, strict=True)]
        sources = TestOp(result_types=kinds)
        names = (name,) if outputs == 1 else tuple(f"{name}_{k}" for k in range(outputs))
        op = cls.make(sources.results, params, name=name, blobs=names)
        stored = b""
        try:
            op.check()
            for key, weight in cls.LAYER.weights.items():
                if (shape := weight.shape(op)) is None:
                    continue
                array = (fill or {}).get(key, self.weight(key, shape))
                array = array if array.dtype == np.int8 else array.astype(np.float32)
                op.properties[key] = WeightAttr.of(array.reshape(shape))
                stored += self.stored(array, weight.tagged)
            op.verify()
            if value is None:
                op.element_types_all(elements)
                shapes = op.infer_all([array.shape for array in arrays])
                with np.errstate(all="ignore"):
                    results = op.reference_all(arrays)
                if [array.shape for array in results] != shapes or not all(
                    map(self._sane, results)
                ):
                    raise Rejected
        except (NccError, LayerError, ArithmeticError, LookupError, ValueError, TypeError) as error:
            raise Rejected from error
        declared = cls.LAYER.params
        text = " ".join(param_text(declared[key], param) for key, param in params.items())
        self.lines.append(Line(type, name, tuple(inputs), names, text, stored))
        self.values.update(zip(names, results if value is None else [value], strict=True))
        return names

    def weight(self, key: str, shape: Sequence[int]) -> Array:
        if key == "var":
            return self.rng.uniform(0.3, 2.0, shape).astype(np.float32)
        return self.random(shape) / np.float32(max(1, int(np.prod(shape[1:]))) ** 0.5)

    def stored(self, array: Array, tagged: bool) -> bytes:
        """Weights as they stand in the .bin."""
        if array.dtype == np.int8:
            return TAG_INT8 + array.tobytes() + bytes(-array.size % 4)
        return bytes(4) * tagged + array.tobytes()

    def _sane(self, array: Array) -> bool:
        if not 0 < array.size <= self.most_elements:
            return False
        array = from_bfloat16(array) if array.dtype == np.uint16 else array
        return bool(SMALLEST_MAXIMUM <= np.abs(array).max() <= LARGEST_VALUE)

    def try_motif(self, motif: Motif, blob: str) -> bool:
        """Let a motif grow, or nothing of it; whether it did.

        Only float32 is left for others to read: few take anything else.
        """
        before = len(self.lines), dict(self.values), dict(self.feeds)
        try:
            motif(self, blob)
            if len(self.lines) > MOST_LAYERS:
                raise Rejected
        except Rejected:
            del self.lines[before[0] :]
            _, self.values, self.feeds = before
            return False
        plain = {k: array for k, array in self.values.items() if array.dtype == np.float32}
        self.values = plain
        return True

    def plant(self, motif: Motif, rank: int | None = None) -> None:
        """Let a motif grow behind any blob, or else behind an input of its own, of this rank."""
        for blob in self.rng.permutation(list(self.values)) if rank is None else []:
            if self.try_motif(motif, str(blob)):
                return
        for _ in range(MOST_ATTEMPTS):
            first = self.input(rank or self.pick([1, 2, 3, 3, 3, 3, 4]))
            if self.try_motif(motif, first):
                return
            self.take_back(first)
        raise AssertionError(f"{motif} does not grow")


Motif: TypeAlias = Callable[[Growth, str], str]


def extents(shape: Sequence[int]) -> dict[str, ParamValue]:
    """A shape as the params of Input, MemoryData and Reshape."""
    names = {1: "w", 2: "hw", 3: "chw", 4: "cdhw"}[len(shape)]
    return {name: int(extent) for name, extent in zip(names, shape, strict=True)}


def param_text(param: Param[ParamValue], value: ParamValue) -> str:
    """A parameter as a .param file spells it."""
    spell = real_text if param.kind.startswith("float") else str
    if isinstance(value, tuple):
        return ",".join([f"{-23300 - param.id}={len(value)}", *map(spell, value)])
    return f"{param.id}={spell(value)}"


def real_text(value: ParamValue) -> str:
    """A float32 in digits that read back as the same number, and as no integer."""
    text = f"{value:.9g}"
    return text if any(mark in text for mark in ".e") else f"{text}.0"
