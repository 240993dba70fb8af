"""What a compiled model holds besides code: inputs and outputs, and its constants in one blob."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
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

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.fuse import network_of
from ncc.compiler.linalg.view import shape_of
from ncc.compiler.plan import Plan, Root
from ncc.dialects.element import dtype_of, element_of
from ncc.dialects.growing import GROWING, GrowingAttr
from ncc.dialects.weight import ConstantOp
from ncc.runtime.artifact import Binding


def bindings(module: ModuleOp, planned: Plan) -> tuple[tuple[Binding, ...], tuple[Binding, ...]]:
    """The inputs and the outputs of a planned network."""
    network = network_of(module)
    returned = network.body.block.last_op
    values: Sequence[SSAValue] = returned.operands if returned is not None else ()
    names = _names(network, "inputs")
    inputs = tuple(
        _binding(network, name, value)
        for name, value in zip(names, network.body.block.args[: len(names)], strict=True)
    )
    outputs = tuple(
        _binding(network, name, value, planned.places[value].root.byte_offset > 0)
        for name, value in zip(_names(network, "outputs"), values, strict=True)
    )
    return inputs, outputs


def _binding(network: FuncOp, name: str, value: SSAValue, dynamic: bool = False) -> Binding:
    dtype = str(dtype_of(element_of(value)))
    growing = network.attributes.get(GROWING)
    kind = growing.data.get(name) if isinstance(growing, DictionaryAttr) else None
    if not isinstance(kind, TensorType) or not isinstance(kind.encoding, GrowingAttr):
        return Binding(name, shape_of(value), dtype, dynamic)
    shape = kind.encoding.fill(kind.get_shape())
    axis = shape.index(kind.encoding.data)
    return Binding(
        name, tuple(map(int, shape)), dtype, axis=axis, counter=kind.encoding.data.counter
    )


def _names(network: FuncOp, which: str) -> list[str]:
    held = network.attributes.get(which)
    names = held.data if isinstance(held, ArrayAttr) else ()
    return [name.data for name in names if isinstance(name, StringAttr)]


def packed(planned: Plan) -> NDArray[np.uint8]:
    """All constants in one blob, 64-byte aligned, each at its root's offset."""
    room = np.zeros(planned.constant_bytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    blob = room[start : start + planned.constant_bytes]
    for root in planned.constants:
        values = _constant(root)
        target = blob[root.byte_offset : root.byte_offset + root.bytes]
        target.view(values.dtype).reshape(values.shape)[...] = values
    return blob


def _constant(root: Root) -> NDArray[np.generic]:
    op = root.value.owner
    if isinstance(op, ConstantOp):
        return op.value.array()
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
        return np.frombuffer(op.value.data.data, np.int64)
    raise CompilerBug(f"a constant made by {op}")
