"""Makes the inputs, outputs and constants of an artifact from the memory plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ncc.compiler.artifact.constants import Constants
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.plan import Buffer, Plan
from ncc.dialects.attributes import extents_of
from ncc.dialects.element import dtype_of, element_of
from ncc.dialects.shapes import OpenShape, Shape
from ncc.dialects.size import Size, begun, is_open, symbol_in
from ncc.dialects.structured import INTERFACE
from ncc.dialects.weights.sources import Inline, Weights
from ncc.dialects.weights.weight import ConstantOp
from ncc.runtime.artifact import Binding
from ncc.runtime.extents import ANY, OPEN, Range

TIMESTAMPS = "time stamps"
"""The output that tells when each thread was done with each step: no blob can have such a name."""

TRACE = "a trace"
"""The output that tells which thread did what, and when."""


def bindings(
    module: ModuleOp, planned: Plan, opened: Mapping[str, OpenShape]
) -> tuple[tuple[Binding, ...], tuple[Binding, ...]]:
    """The inputs and the outputs of a planned network.

    opened: the shapes of inputs with a size of its own for each extent that is open.
    """
    network = network_of(module)
    returned = network.body.block.last_op
    values: Sequence[SSAValue] = returned.operands if returned is not None else ()
    names = _names(network, "inputs")
    inputs = tuple(
        _input(network, name, value, opened.get(name, ()))
        for name, value in zip(names, network.body.block.args[: len(names)], strict=True)
    )
    outputs = tuple(
        _binding(network, name, value, planned.subviews[value].buffer.byte_offset > 0)
        for name, value in zip(_names(network, "outputs"), values, strict=True)
    )
    return inputs, outputs


def _input(network: FuncOp, name: str, value: SSAValue, opened: OpenShape) -> Binding:
    binding, shape = _binding(network, name, value), _shape_outside(network, name, value)
    if not binding.is_open:
        return binding
    own = _with_own(shape, opened)
    firsts = (begun(one) for one in (shape, own) if not is_open(*begun(one)))
    ranges = _open_binding(replace(binding, shape=own)).ranges
    return replace(binding, ranges=ranges, first=next(firsts, ()))


def _with_own(shape: Shape, opened: OpenShape) -> Shape:
    """A shape with sizes of its own in place of expressions of those of other inputs."""
    if len(shape) != len(opened):
        return shape
    return tuple(
        own if isinstance(own, Size) and is_open(extent) and symbol_in(extent) is None else extent
        for extent, own in zip(shape, opened, strict=True)
    )


def _binding(network: FuncOp, name: str, value: SSAValue, dynamic: bool = False) -> Binding:
    dtype = str(dtype_of(element_of(value)))
    shape = _shape_outside(network, name, value)
    return _open_binding(Binding(name, shape, dtype, dynamic))


def _shape_outside(network: FuncOp, name: str, value: SSAValue) -> Shape:
    """The shape of an input or output as users have it."""
    held = network.attributes.get(INTERFACE)
    kind = held.data.get(name) if isinstance(held, DictionaryAttr) else None
    return extents_of(kind) if isinstance(kind, TensorType) else shape_of(value)


def _open_binding(binding: Binding) -> Binding:
    """The binding with open extents in place of sizes, and the ranges of those of an input."""
    shape = binding.shape
    if not is_open(*shape):
        return binding
    ranges = tuple(map(_range, shape))
    extents = tuple(OPEN if isinstance(extent, Size) else extent for extent in shape)
    limited = any(range != ANY for range in ranges)
    return replace(binding, shape=extents, ranges=ranges if limited else ())


def _range(extent: int) -> Range:
    """What an extent can be, if it is one of an input."""
    symbol = symbol_in(extent)
    return ANY if symbol is None else (symbol.least, symbol.most)


def shapes(module: ModuleOp) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The shapes of the inputs and of the outputs of a network as users have them, with sizes."""
    network = network_of(module)
    returned = network.body.block.last_op
    values: Sequence[SSAValue] = returned.operands if returned is not None else ()

    def outside(which: str, held: Sequence[SSAValue]) -> list[Shape]:
        named = zip(_names(network, which), held, strict=False)
        return [_shape_outside(network, name, value) for name, value in named]

    return outside("inputs", network.body.block.args), outside("outputs", values)


def input_names(module: ModuleOp) -> list[str]:
    """The inputs of a network, in order."""
    return _names(network_of(module), "inputs")


def _names(network: FuncOp, which: str) -> list[str]:
    held = network.attributes.get(which)
    names = held.data if isinstance(held, ArrayAttr) else ()
    return [name.data for name in names if isinstance(name, StringAttr)]


def constants(planned: Plan) -> Constants:
    """All constants, each at the offset of its buffer."""
    weights = tuple((buffer.byte_offset, _constant(buffer)) for buffer in planned.constants)
    return Constants(planned.constant_bytes, weights)


def _constant(buffer: Buffer) -> Weights:
    op = buffer.value.owner
    if isinstance(op, ConstantOp):
        return op.value.data
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
        return Weights(shape_of(buffer.value), Inline(op.value.data.data, "i8"))
    raise CompilerBug(f"a constant made by {op}")
