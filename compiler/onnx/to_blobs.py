"""Makes a network of ncnn layers alone: what a .param can say, without batch axes.

    %x = onnx.Input() : tensor<1x3x8x8xf32>        %x = ncnn.Input() {w = 8, h = 8, c = 3}
    %v = onnx.View(%x) {extents = [3, 8, 8]}       %c = ncnn.Convolution(%x)
    %c = ncnn.Convolution(%v)                 ->   %r = ncnn.Reshape(%c) {w = 256}
    %f = onnx.View(%c) {extents = [1, 256]}        %d = ncnn.InnerProduct(%r)
    %g = onnx.View(%f) {extents = [256]}           func.return %d
    %d = ncnn.InnerProduct(%g)
    %y = onnx.View(%d) {extents = [1, 10]}
    func.return %y

Inputs and outputs of a batch of 1 lose that axis, and keep their names. A view between layers
becomes a Reshape. Everything that no layer is, is told at once.

Needs: shapes, and operators that have become layers where layers express them.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.onnx.conversion import shape, without_batch
from ncc.dialects.element import element_of, name_of
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Layer, Shape
from ncc.dialects.ncnn.movement.reshape import MAX_RANK, ReshapeOp, reshape_params
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.onnx.operator import ConstantOp, Operator
from ncc.dialects.onnx.plumbing import OnnxInputOp, ViewOp
from ncc.dialects.shapes import shown

HOW = "compile the .onnx itself, which has all of it: ncc compile"


def to_blobs(network: Network) -> None:
    """Rewrite a network of layers and operators to one of layers alone.

    Raises `Unsupported`, which names all that no layer is.
    """
    _require_layers(network)
    for op in network.layers:
        if isinstance(op, OnnxInputOp):
            _make_input(op)
    for place, value in enumerate(network.outputs.values()):
        network.terminator.operands[place] = _blob(value)
    for op in network.layers:
        if isinstance(op, ViewOp):
            _make_reshape(op)
    network.function.update_function_type()


def _require_layers(network: Network) -> None:
    problems = [*_of_operators(network), *_of_values(network)]
    if problems:
        raise Unsupported(f"in ncnn: {'; '.join(problems)}", how=HOW)


def _of_operators(network: Network) -> Iterator[str]:
    """The operators that did not become layers, by type."""
    found: dict[str, list[str]] = {}
    for op in network.layers:
        if isinstance(op, Operator) and not isinstance(op, ViewOp | ConstantOp):
            shapes = ", ".join(shown(shape(value)) for value in op.operands)
            found.setdefault(op.type_name, []).append(f"{op.layer_name!r} of {shapes}")
    for kind, names in found.items():
        yield f"{kind} ({'; '.join(names)})"


def _of_values(network: Network) -> Iterator[str]:
    """Inputs, outputs and views that no blob can be."""
    for name, value in network.inputs.items():
        if element_of(value) not in (f32, i32):
            yield f"the input {name!r} of {name_of(element_of(value))}"
    held = [*network.inputs.items(), *network.outputs.items()]
    held += [(op.layer_name, op.results[0]) for op in network.layers if _is_inner_view(op)]
    for name, value in held:
        if len(without_batch(shape(value))) > MAX_RANK:
            yield f"{name!r}, which is {shown(shape(value))}"


def _is_inner_view(op: Layer) -> bool:
    """Whether a layer reads a view."""
    return isinstance(op, ViewOp) and any(
        isinstance(use.operation, Layer) for use in op.results[0].uses
    )


def _make_input(op: OnnxInputOp) -> None:
    """An Input without a batch of 1; views of it are views of that."""
    extents = without_batch(shape(op.results[0]))
    params = dict(zip(EXTENT_NAMES[len(extents)], extents, strict=True))
    made = InputOp.make([], params, name=op.layer_name, blobs=op.blob_names)
    kind = TensorType(element_of(op.results[0]), extents)
    value = Rewriter.replace_value_with_new_type(made.results[0], kind)
    Rewriter.insert_op(made, InsertPoint.before(op))
    Rewriter.replace_op(op, [], new_results=[value])


def _blob(value: SSAValue) -> SSAValue:
    """An output without a batch of 1."""
    extents = without_batch(shape(value))
    source = value
    while isinstance(source.owner, ViewOp):
        source = source.owner.operands[0]
    if shape(source) == extents:
        return source
    if not isinstance(value.owner, ViewOp):
        return value
    return _reshaped(value.owner, source, extents)


def _make_reshape(op: ViewOp) -> None:
    """A Reshape in the place of a view; nothing where the shape is the same."""
    value = op.operands[0]
    if op.results[0].uses and shape(value) != op.extents:
        value = _reshaped(op, value, op.extents)
    Rewriter.replace_op(op, [], new_results=[value])


def _reshaped(op: ViewOp, value: SSAValue, extents: Shape) -> SSAValue:
    made = ReshapeOp.make([value], reshape_params(extents), name=op.layer_name, shapes=[extents])
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made.results[0]
