"""An .onnx beside onnxruntime, node by node: the first value that differs is named.

ncc compiles the network twice: with every value of the graph as an output, and as it is compiled
for use. onnxruntime computes the same values from the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from ncc.compiler.driver import compile as front
from ncc.compiler.driver.specialise import callable_now
from ncc.compiler.feeds import Range, all_feeds
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.settle import settle
from ncc.compiler.options import Compiling
from ncc.compiler.read_onnx.read_model import read_model
from ncc.compiler.verification.by_onnxruntime import names_made, session_of
from ncc.compiler.verification.onnx_outputs import Array, difference_of, require_onnxruntime
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network, settling_inputs
from ncc.dialects.onnx.operator import ConstantOp, Operator
from ncc.dialects.shapes import shown
from ncc.runtime.paths import PathLike

TOLERANCE = 1e-4
"""The difference that counts as rounding, as a part of the largest value."""


@dataclass(frozen=True)
class NodeRow:
    """A value of the graph. difference: as a part of the largest value; infinite where shapes
    differ, or only one of the two has a number. for_use: whether the network was compiled for use.
    """

    node: str
    type: str
    value: str
    shape: tuple[int, ...]
    difference: float
    for_use: bool

    def differs(self, tolerance: float) -> bool:
        return not self.difference <= tolerance

    def as_object(self, tolerance: float) -> dict[str, Any]:
        """As JSON can say it; null stands for a difference without measure."""
        measured = self.difference if np.isfinite(self.difference) else None
        return {**asdict(self), "difference": measured, "differs": self.differs(tolerance)}


@dataclass(frozen=True)
class NodeReport:
    """The values of a graph in the order of its nodes, then the outputs as compiled for use."""

    rows: tuple[NodeRow, ...]
    tolerance: float

    @property
    def first(self) -> NodeRow | None:
        """The first value that differs."""
        return next((row for row in self.rows if row.differs(self.tolerance)), None)

    def lines(self) -> Iterator[str]:
        """A line for each value, marked where it differs, and the verdict."""
        width = max((len(row.value) for row in self.rows), default=5)
        yield f"  {'node type':<22} {'value':<{width}}  {'shape':<18} difference"
        for number, row in enumerate(self.rows):
            if row.for_use and (not number or not self.rows[number - 1].for_use):
                yield "as compiled for use:"
            mark = "!" if row.differs(self.tolerance) else " "
            where = f"{row.type:<22} {row.value:<{width}}  {shown(row.shape):<18}"
            yield f"{mark} {where} {row.difference:10.1e}"
        first = self.first
        if first is None:
            yield "all values agree with onnxruntime"
        else:
            yield f"the first that differs: node {first.node} ({first.type}), value {first.value}"


def verify_onnx(
    path: PathLike,
    *,
    feeds: Mapping[str, Array] | None = None,
    seed: int = 0,
    value_range: Range | None = None,
    nodes: bool = True,
    tolerance: float = TOLERANCE,
    **options: Unpack[Compiling],
) -> NodeReport:
    """Compare ncc with onnxruntime on `feeds` (random ones for inputs left out).

    nodes: whether every value is compared, or outputs alone. options: those of `compile`. Raises
    what compiling and running raise, InputError where onnxruntime refuses the file.
    """
    require_onnxruntime()
    shapes = {name: array.shape for name, array in (feeds or {}).items()}
    options["input_shapes"] = {**shapes, **(options.get("input_shapes") or {})}
    model = callable_now(front.compile(path, **options))
    inputs = all_feeds(model.inputs, feeds, seed, value_range)
    outputs = model.run(inputs)
    names = _computed(path, inputs) if nodes else {}
    wanted = _run(path, inputs, [*names, *outputs])
    rows: list[NodeRow] = []
    if names:
        options["outputs"] = list(names)
        every = callable_now(front.compile(path, **options))
        found = every.run(inputs)
        rows += (_row(name, names[name], found[name], wanted[name], False) for name in names)
    made = {name: names.get(name, ("", "output")) for name in outputs}
    rows += (_row(name, made[name], outputs[name], wanted[name], True) for name in outputs)
    return NodeReport(tuple(rows), tolerance)


def _computed(path: PathLike, inputs: Mapping[str, Array]) -> dict[str, tuple[str, str]]:
    """The values that a run computes, with the names and types of their nodes."""
    module = read_model(path)
    network = Network.of(module)
    settle(module, {name: inputs[name] for name in settling_inputs(network)})
    infer_shapes(module, {name: array.shape for name, array in inputs.items()})
    outside = names_made(path)
    return {
        name: (op.layer_name, op.type_name)
        for op in network.layers
        if isinstance(op, Operator) and not isinstance(op, ConstantOp)
        for name, value in zip(op.blob_names, op.results, strict=True)
        if name in outside and shape_of(value) is not None
    }


def _row(name: str, node: tuple[str, str], found: Array, wanted: Array, for_use: bool) -> NodeRow:
    same = found.shape == wanted.shape
    apart = difference_of(found, wanted) if same else float("inf")
    return NodeRow(*node, name, found.shape, apart, for_use)


def _run(path: PathLike, inputs: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """Values of the graph as onnxruntime computes them."""
    wanted = list(dict.fromkeys(names))
    with session_of(path, wanted) as session:
        made = session.run(wanted, {name: np.ascontiguousarray(a) for name, a in inputs.items()})
    return dict(zip(wanted, made, strict=True))
