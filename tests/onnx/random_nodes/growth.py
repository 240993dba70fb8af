"""An ONNX graph that grows node by node, and knows what every value holds at some sizes.

onnxruntime runs each node by itself, at all sizes. If it refuses one, or if results are not finite
or too large, the node is taken back. So the values that the graph should have are known with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from ncc.runtime.results import Array

T = TypeVar("T")

MOST_ELEMENTS = 6000
LARGEST_VALUE = 1e3
LARGEST_WHOLE = 1e6
SMALLEST_MAXIMUM = 1e-2
"""What is smaller all over may be left of a difference of equals: rounding, and nothing else."""

MICROSOFT = "com.microsoft"
GRID = 64
"""What is a multiple of 1/64 at all sizes, and made without rounding, is exact."""


class Rejected(Exception):
    """A node does not fit where it was tried."""


@dataclass(frozen=True)
class Value:
    """A value of the graph: one array for each size. exact: no rounding was on its way."""

    name: str
    arrays: tuple[Array, ...]
    exact: bool

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @property
    def dtype(self) -> Any:
        return self.arrays[0].dtype

    @property
    def is_real(self) -> bool:
        return bool(self.dtype == np.float32)

    @property
    def is_whole(self) -> bool:
        return self.dtype.kind in "iu"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape at the first size."""
        return tuple(self.arrays[0].shape)

    def is_fixed(self, axis: int) -> bool:
        """Whether an extent is the same at all sizes."""
        return len({array.shape[axis] for array in self.arrays}) == 1

    def least(self, axis: int) -> int:
        return min(int(array.shape[axis]) for array in self.arrays)


@dataclass
class Growth:
    """A graph while it grows. sizes: the extents of its open axes, by name, for each size."""

    rng: np.random.Generator
    opset: int
    sizes: Sequence[Mapping[str, int]]
    nodes: list[Any] = field(default_factory=list)
    inputs: dict[str, tuple[Value, tuple[int | str, ...]]] = field(default_factory=dict)
    held: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    last_name: int = 0
    is_quantized: bool = False

    # --- choices ---

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, options: Sequence[T]) -> T:
        if not len(options):
            raise Rejected
        return options[int(self.rng.integers(len(options)))]

    def number(self, least: int, most: int) -> int:
        if most < least:
            raise Rejected
        return int(self.rng.integers(least, most + 1))

    def some(self, fits: Callable[[Value], bool]) -> Value:
        """A value that fits, one of the last sooner than others."""
        fitting = [value for value in self.values.values() if fits(value)]
        return self.pick(fitting[-4:] if self.chance(0.7) else fitting)

    def real(self, least_rank: int = 0, most_rank: int = 6) -> Value:
        return self.some(lambda v: v.is_real and least_rank <= v.rank <= most_rank)

    def axis(self, value: Value) -> int:
        """An axis, as often counted from the end."""
        axis = self.number(0, value.rank - 1)
        return axis - value.rank if self.chance(0.5) else axis

    def axes(self, value: Value) -> list[int]:
        """Some axes, in any order."""
        count = self.number(1, value.rank)
        found = self.rng.permutation(value.rank)[:count].tolist()
        return [axis - value.rank if self.chance(0.3) else axis for axis in found]

    def numbers(self, shape: Sequence[int], dtype: Any = np.float32) -> Array:
        """Random numbers; of floats, multiples of 1/8."""
        if np.dtype(dtype) == np.bool_:
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if np.dtype(dtype).kind in "iu":
            least = 0 if np.dtype(dtype).kind == "u" else -9
            return self.rng.integers(least, 10, shape).astype(dtype)
        return (self.rng.integers(-12, 13, shape) / 8).astype(dtype)

    # --- growing ---

    def name(self, kind: str) -> str:
        self.last_name += 1
        return f"{kind.lower()}{self.last_name}"

    def input(self, shape: Sequence[int | str], dtype: Any = np.float32) -> Value:
        """An input; extents that are names are open."""
        name = self.name("in")
        extents = [[one[n] if isinstance(n, str) else n for n in shape] for one in self.sizes]
        arrays = tuple(self.numbers(extent, dtype) for extent in extents)
        value = Value(name, arrays, exact=True)
        self.inputs[name] = value, tuple(shape)
        self.values[name] = value
        return value

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """An initializer, or a node of the type Constant."""
        array = np.asarray(array, dtype)
        name = self.name("const")
        if self.chance(0.2):
            tensor = numpy_helper.from_array(array)
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        self.held[name] = array
        return Value(name, (array,) * len(self.sizes), exact=bool(np.all(array * GRID % 1 == 0)))

    def node(
        self,
        kind: str,
        inputs: Sequence[Value | None],
        outputs: int = 1,
        domain: str = "",
        exact: bool = False,
        **attributes: Any,
    ) -> list[Value]:
        """A node, if onnxruntime takes it at all sizes. exact: whether it does not round."""
        name = self.name(kind)
        names = [one.name if one is not None else "" for one in inputs]
        results = [name, *(f"{name}_{k}" for k in range(1, outputs))]
        made = helper.make_node(kind, names, results, name, domain=domain, **attributes)
        given = {one.name: one for one in inputs if one is not None}
        return self.added(made, given, exact)

    def added(self, node: Any, given: Mapping[str, Value], exact: bool) -> list[Value]:
        """The values that a node makes of these."""
        by_size = self._run(node, list(given.values()))
        exact = exact and all(value.exact for value in given.values())
        made = []
        for name, *arrays in zip(node.output, *by_size, strict=True):
            for array in arrays:
                _require_usable(array)
            on_grid = all(np.all(a * GRID % 1 == 0) for a in arrays if a.dtype.kind == "f")
            made.append(Value(name, tuple(arrays), exact and on_grid))
        self.nodes.append(node)
        self.values.update({value.name: value for value in made})
        return made

    def _run(self, node: Any, given: Sequence[Value]) -> list[list[Array]]:
        """The results of one node, for each size."""
        fed = [value for value in given if value.name not in self.held]
        infos = [_info(value.name, value, [None] * value.rank) for value in fed]
        held = [numpy_helper.from_array(self.held[v.name], v.name) for v in given if v not in fed]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
        graph = helper.make_graph([node], "node", infos, outputs, held)
        try:
            session = onnxruntime.InferenceSession(self._model(graph), session_options())
            return [
                session.run(None, {value.name: value.arrays[size] for value in fed})
                for size in range(len(self.sizes))
            ]
        except Exception as error:  # its errors have no class in common
            raise Rejected(str(error)) from error

    def _model(self, graph: Any) -> bytes:
        domains = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        made = helper.make_model(graph, opset_imports=domains, ir_version=10)
        data: bytes = made.SerializeToString()
        return data

    def model(self, outputs: Sequence[str]) -> bytes:
        """The file."""
        infos = [_info(name, value, shape) for name, (value, shape) in self.inputs.items()]
        written = {name for node in self.nodes for name in node.output}
        held = [numpy_helper.from_array(a, n) for n, a in self.held.items() if n not in written]
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        return self._model(helper.make_graph(self.nodes, "graph", infos, results, held))

    @property
    def node_count(self) -> int:
        """Constants left out."""
        return sum(node.op_type != "Constant" for node in self.nodes)

    def unread(self) -> list[str]:
        """The values that no node reads."""
        read = {name for node in self.nodes for name in node.input}
        return [name for name in self.values if name not in read and name not in self.inputs]


def session_options() -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def _info(name: str, value: Value, shape: Sequence[int | str | None]) -> Any:
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, shape)


def _require_usable(array: Array) -> None:
    if not 0 < array.size <= MOST_ELEMENTS:
        raise Rejected("elements")
    if array.dtype.kind in "iu" and np.abs(array.astype(np.float64)).max() > LARGEST_WHOLE:
        raise Rejected("values")
    if array.dtype.kind == "f":
        largest = np.abs(array).max()
        if not SMALLEST_MAXIMUM <= largest <= LARGEST_VALUE:
            raise Rejected("values")
