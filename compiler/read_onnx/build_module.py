"""An ONNX graph -> a module of ONNX operators.

    input x: float[1, 3, 8, 8]            %x = onnx.Input() {extents = [1, 3, 8, 8], ...}
    initializer w: float[4, 3, 1, 1]      %w = onnx.Constant() {value = #ncnn.weight<...>}
    y = Conv(x, w)                  ->    %y = onnx.Conv(%x, %w) {layer = "Conv_0", ...}
                                          func.return %y

Operators stand in an order in which each value is made before it is read; the names of inputs and
outputs are those of the file. All operators that ncc does not know are told at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnrankedTensorType,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import ModelError, Problem, Unsupported, did_you_mean
from ncc.compiler.read_onnx import bodies
from ncc.compiler.read_onnx.attributes import attributes_of, constant_value
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.compiler.read_onnx.tensors import BrokenTensor, element
from ncc.dialects.ncnn.layer import Layer, LayerError
from ncc.dialects.ncnn.param import NotYet
from ncc.dialects.onnx.control import IfOp
from ncc.dialects.onnx.dialect import operator_class
from ncc.dialects.onnx.loops import Repeated
from ncc.dialects.onnx.operator import ConstantOp, Operator
from ncc.dialects.onnx.plumbing import OnnxInputOp
from ncc.dialects.shapes import DYNAMIC

MOST_NAMED = 8
"""The number of nodes that an error names."""


def build(
    model: Any, path: str, initializers: Initializers, outputs: Sequence[str] | None = None
) -> ModuleOp:
    """The module of a model whose functions are inlined. outputs: values to return; by default
    those of the graph.

    Raises ModelError and Unsupported.
    """
    versions = {domain_of(one.domain): one.version for one in model.opset_import}
    building = _Building(model.graph, path, versions, initializers)
    building.add_graph()
    building.refuse_unknown()
    return building.function(outputs)


def domain_of(name: str) -> str:
    """A domain as classes have it: ONNX's own has two names."""
    return "" if name == "ai.onnx" else name


def name_of(node: Any, number: int) -> str:
    """The name of a node; made up where it has none."""
    return node.name or f"{node.op_type}_{number}"


@dataclass
class _Building:
    """One walk over the nodes of a graph. Graphs inside of it see its values."""

    graph: Any
    path: str
    versions: Mapping[str, int]
    initializers: Initializers
    values: dict[str, SSAValue] = field(default_factory=dict)
    ops: list[Layer] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    """The names that this graph makes."""

    def add_graph(self) -> None:
        """Make an op of each input, initializer and node."""
        self._add_inputs()
        for number, node in self._in_order():
            self._add_node(node, name_of(node, number))

    def refuse_unknown(self) -> None:
        """Raise `Unsupported` where there are operators that ncc does not know."""
        if self.unknown:
            raise _unknown(self.unknown)

    def problem(self, message: str, suggestion: str | None = None) -> ModelError:
        return ModelError(Problem(message, path=self.path, suggestion=suggestion))

    # --- inputs and constants -------------------------------------------------------------------

    def _add_inputs(self) -> None:
        for name in self.initializers.names:
            if name in self.own:
                raise self.problem(f"two initializers have the name {name!r}")
            self._add_constant(name)
        taken = set[str]()
        for info in self.graph.input:
            if info.name in taken:
                raise self.problem(f"two inputs have the name {info.name!r}")
            taken.add(info.name)
            if info.name not in self.own:
                self._add(self._input(info), [info.name])

    def _add_constant(self, name: str) -> None:
        try:
            weight = self.initializers.weight(name)
        except BrokenTensor as error:
            raise self.problem(f"the initializer {name!r} {error}") from None
        self._add(ConstantOp.holding(weight, name, name), [name])

    def _input(self, info: Any) -> OnnxInputOp:
        kind = info.type.WhichOneof("value")
        if kind != "tensor_type":
            what = (kind or "unknown").removesuffix("_type")
            raise Unsupported(f"the input {info.name!r}, which is of the type {what}")
        tensor = info.type.tensor_type
        elements = element(tensor.elem_type, f"the input {info.name!r}")
        params: dict[str, Any] = {}
        if tensor.HasField("shape"):
            params["extents"] = tuple(self._extent(info.name, dim) for dim in tensor.shape.dim)
            params["axes"] = tuple(dim.dim_param for dim in tensor.shape.dim)
        made = OnnxInputOp.make([], params, name=info.name, blobs=[info.name])
        Rewriter.replace_value_with_new_type(made.results[0], _type(elements, params))
        return made

    def _extent(self, name: str, dim: Any) -> int:
        """An extent of an input; `DYNAMIC` where the file leaves it open."""
        if dim.WhichOneof("value") != "dim_value":
            return DYNAMIC
        extent = int(dim.dim_value)
        if extent < 0:
            return DYNAMIC  # as some exporters write it
        if extent == 0:
            raise Unsupported(f"the input {name!r}, which has no elements")
        return extent

    # --- nodes ----------------------------------------------------------------------------------

    def _in_order(self) -> Iterator[tuple[int, Any]]:
        """The nodes with their numbers, each behind those that make what it reads."""
        makers: dict[str, int] = {}
        nodes = list(self.graph.node)
        for number, node in enumerate(nodes):
            for name in filter(None, node.output):
                if name in self.own or name in makers:
                    raise self.problem(f"node {name_of(node, number)!r}: {name!r} is made twice")
                makers[name] = number
        done = [False] * len(nodes)
        for number in range(len(nodes)):
            yield from self._behind_makers(number, nodes, makers, done)

    def _behind_makers(
        self, number: int, nodes: Sequence[Any], makers: Mapping[str, int], done: list[bool]
    ) -> Iterator[tuple[int, Any]]:
        """A node that was not handed out yet, behind those that it needs."""
        waiting, open_ = [number], set[int]()
        while waiting:
            current = waiting[-1]
            if done[current]:
                waiting.pop()
                continue
            needed = self._makers_of(nodes[current], current, makers)
            left = [maker for maker in needed if not done[maker]]
            if not left:
                waiting.pop()
                done[current] = True
                yield current, nodes[current]
                continue
            if current in open_:
                names = name_of(nodes[current], current)
                raise self.problem(f"node {names!r} needs its own result: a cycle")
            open_.add(current)
            waiting += left

    def _makers_of(self, node: Any, number: int, makers: Mapping[str, int]) -> list[int]:
        found = []
        for name in _names_read(node):
            if name in makers:
                found.append(makers[name])
            elif name not in self.values:
                raise self.problem(
                    f"node {name_of(node, number)!r} ({node.op_type}) reads {name!r}, which "
                    "nothing makes",
                    did_you_mean(name, [*self.values, *makers]),
                )
        return found

    def _class(self, node: Any, name: str) -> type[Operator] | None:
        """The class of a node's operator; None where ncc has none, which is noted."""
        domain = domain_of(node.domain)
        version = self.versions.get(domain)
        if version is None:
            raise self.problem(
                f"node {name!r} ({node.op_type}) is of the domain {domain or 'ai.onnx'!r}, which "
                "the model does not import"
            )
        cls = operator_class(domain, node.op_type, version)
        if cls is None:
            shown = ".".join(filter(None, (domain, node.op_type)))
            self.unknown.setdefault(f"{shown} of op set {version}", []).append(node.name)
        return cls

    def _add_node(self, node: Any, name: str) -> None:
        where = f"node {name!r} ({node.op_type})"
        names = _without_end(node.output)
        cls = self._class(node, name)
        try:
            if cls is None:
                self._add_unknown(names)
            elif issubclass(cls, ConstantOp):
                self._add(_constant(node, name, names), names)
            else:
                self._add(self._made(node, name, cls, names), names)
        except BrokenTensor as error:
            raise self.problem(f"{where}: a tensor {error}") from None
        except NotYet as error:
            raise Unsupported(error.message, how=error.how, layer=name) from None
        except LayerError as error:
            raise self.problem(f"{where}: {error.message}") from None

    def _made(self, node: Any, name: str, cls: type[Operator], names: Sequence[str]) -> Operator:
        places = [place for place, read in enumerate(node.input) if read]
        operands = [self.values[node.input[place]] for place in places]
        if issubclass(cls, IfOp):
            for branch in ("then_branch", "else_branch"):
                operands += self._branch(node, branch)
            op: Operator = cls.make(operands, {}, name=name, blobs=names)
        elif issubclass(cls, Repeated):
            op = self._repeated(node, name, cls, names)
        else:
            attributes = attributes_of(node, cls)
            op = cls.make(operands, attributes, name=name, blobs=names)
            op.leave_out(places)
        self._check(op, len(node.input))
        return op

    def _branch(self, node: Any, name: str) -> list[SSAValue]:
        """The results of a graph inside of a node, whose nodes come before it."""
        inside = self._inside(node, name, self.ops)
        inside.add_graph()
        return inside.results

    def _inside(self, node: Any, name: str, ops: list[Layer]) -> _Building:
        """The walk over a graph inside of a node, which adds to some operators."""
        graph = next((one.g for one in node.attribute if one.name == name and one.type == 5), None)
        if graph is None:
            raise LayerError(f"the graph {name!r} is missing", name)
        initializers = self.initializers.of(graph)
        values = dict(self.values)
        return _Building(graph, self.path, self.versions, initializers, values, ops, self.unknown)

    def _repeated(
        self, node: Any, name: str, cls: type[Repeated], names: Sequence[str]
    ) -> Operator:
        """A Loop or Scan with its body; all that the body reads becomes an operand."""
        ops: list[Layer] = []
        inside = self._inside(node, "body", ops)
        taken = [info.name for info in inside.graph.input]
        own = max(len(node.input), cls.LEAST)
        if len(taken) != own:
            raise LayerError(f"its body takes {len(taken)} values, not {own}")
        block = bodies.arguments(own)
        inside.values.update(zip(taken, block.args, strict=True))
        inside.own.update(taken)
        inside.add_graph()
        outside, seen = bodies.fill(block, ops, inside.results)
        self.ops += outside
        places = [place for place, read in enumerate(node.input) if read]
        operands = [*(self.values[node.input[place]] for place in places), *seen]
        attributes = {**attributes_of(node, cls), "own": own}
        more = [""] * (cls.results_of(len(inside.results)) - len(names))
        op = cls.make(operands, attributes, name=name, blobs=[*names, *more])
        op.leave_out([*places, *range(own, own + len(seen))])
        op.add_region(Region(block))
        return op

    def _add_unknown(self, names: Sequence[str]) -> None:
        """Stand-ins for results of an operator that is refused: what comes behind is looked at."""
        block = Block(arg_types=[UnrankedTensorType(f32)] * len(names))
        self.values.update(zip(names, block.args, strict=True))

    def _check(self, op: Operator, inputs: int) -> None:
        """Raise `LayerError` where the number of inputs or outputs, or attributes, are wrong."""
        least, most = op.LAYER.inputs
        if most is not None and inputs > most:
            raise LayerError(f"it has {inputs} inputs, but takes {most} at most")
        if missing := [place for place in range(least) if place not in op.places]:
            raise LayerError(f"input {missing[0]} is missing")
        if not op.results:
            raise LayerError("it has no outputs")
        if (most := op.LAYER.outputs[1]) is not None and len(op.results) > most:
            raise LayerError(f"it has {len(op.results)} outputs, but makes {most} at most")
        op.check()

    def _add(self, op: Layer, names: Sequence[str]) -> None:
        self.ops.append(op)
        made = zip(names, op.results, strict=False)  # results that nobody names are left out
        self.values.update({name: value for name, value in made if name})
        self.own.update(filter(None, names))

    # --- outputs --------------------------------------------------------------------------------

    @property
    def results(self) -> list[SSAValue]:
        """The values that the graph returns."""
        return [self.values[name] for name in self.output_names(None)]

    def output_names(self, asked: Sequence[str] | None) -> list[str]:
        names = [info.name for info in self.graph.output] if asked is None else list(asked)
        if not names:
            raise self.problem("the graph has no outputs")
        for name in names:
            if name not in self.values:
                raise self.problem(
                    f"nothing makes the output {name!r}", did_you_mean(name, self.values)
                )
        return names

    def function(self, outputs: Sequence[str] | None) -> ModuleOp:
        """The function of all ops, which returns the named values, or those of the graph."""
        names = list(dict.fromkeys(self.output_names(outputs)))
        returned = [self.values[name] for name in names]
        types = ((), [value.type for value in returned])
        function = FuncOp("network", types, Region(Block([*self.ops, ReturnOp(*returned)])))
        function.attributes["source"] = StringAttr(self.path)
        function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in names])
        return ModuleOp([function])


def _type(elements: Attribute, params: Mapping[str, Any]) -> Attribute:
    extents = params.get("extents")
    if extents is None or DYNAMIC in extents:
        return UnrankedTensorType(elements)
    return TensorType(elements, extents)


def _constant(node: Any, name: str, names: Sequence[str]) -> ConstantOp:
    """The op of a Constant, which has one result."""
    if len(names) != 1:
        raise LayerError("it has no outputs" if not names else f"it has {len(names)} outputs")
    return ConstantOp.holding(constant_value(node), name, *names)


def _names_read(node: Any) -> Iterator[str]:
    """The names that a node reads, and graphs inside of it, which they do not make."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
            made = {name for inner in graph.node for name in inner.output}
            made.update(info.name for info in (*graph.input, *graph.initializer))
            read = (name for inner in graph.node for name in _names_read(inner))
            results = (info.name for info in graph.output)
            yield from (name for name in (*read, *results) if name not in made)


def _without_end(names: Sequence[str]) -> list[str]:
    """Names of results without the empty ones at the end; one at least."""
    found = list(names)
    while len(found) > 1 and not found[-1]:
        found.pop()
    return found


def _unknown(unknown: Mapping[str, Sequence[str]]) -> Unsupported:
    """The error that names all operators that ncc does not know, and their nodes."""
    told = []
    for operator, names in unknown.items():
        named = [repr(name) for name in names if name][:MOST_NAMED]
        more = len(names) - len(named)
        nodes = ", ".join([*named, *([f"{more} more"] if named and more else [])])
        told.append(f"{operator} ({nodes})" if nodes else operator)
    return Unsupported(f"the operators {'; '.join(told)}")
