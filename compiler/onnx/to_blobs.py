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

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.onnx.conversion import is_float, reshaped
from ncc.compiler.onnx.expressions import Expressions
from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.attributes import tensor_type
from ncc.dialects.element import element_of, name_of
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Layer, Shape
from ncc.dialects.ncnn.movement.reshape import MAX_RANK, ReshapeOp, reshape_params
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp
from ncc.dialects.onnx.operator import ConstantOp, Operator, SizesOp
from ncc.dialects.onnx.plumbing import OnnxInputOp, ViewOp
from ncc.dialects.shapes import shown
from ncc.dialects.size import is_open

REST = -1
"""The extent of a Reshape that is what remains."""

HOW = "compile the .onnx itself, which has all of it: ncc compile"


def to_blobs(network: Network) -> None:
    """Rewrite a network of layers and operators to one of layers alone.

    Raises `Unsupported`, which names all that no layer is.
    """
    _require_layers(network)
    for op in network.layers:
        if isinstance(op, OnnxInputOp):
            _make_input(op)
        elif isinstance(op, ConstantOp) and op.results[0].uses:
            _make_memory_data(op)
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
        if isinstance(op, Operator) and not isinstance(op, ViewOp | ConstantOp | SizesOp):
            shapes = ", ".join(_shown(shape(value)) for value in op.operands)
            found.setdefault(op.type_name, []).append(f"{op.layer_name!r} of {shapes}")
    for kind, names in found.items():
        yield f"{kind} ({'; '.join(names)})"


def _of_values(network: Network) -> Iterator[str]:
    """Inputs, outputs and views that no blob can be."""
    for op in network.layers:
        if isinstance(op, SizesOp) and _is_read(op):
            yield f"the numbers {op.layer_name!r}, which shapes decide"
        elif isinstance(op, ConstantOp) and _is_read(op) and not is_float(op.results[0]):
            yield f"a constant of {name_of(element_of(op.results[0]))} as an output or an operand"
    for name, value in network.inputs.items():
        if element_of(value) not in (f32, i32):
            yield f"the input {name!r} of {name_of(element_of(value))}"
    held = [*network.inputs.items(), *network.outputs.items()]
    held += [(op.layer_name, op.results[0]) for op in network.layers if _is_inner_view(op)]
    for name, value in held:
        if len(without_batch(shape(value))) > MAX_RANK:
            yield f"{name!r}, which is {_shown(shape(value))}"


def _shown(extents: Shape) -> str:
    """A shape with a question mark for an open extent."""
    return shown(tuple(None if is_open(extent) else extent for extent in extents))


def _is_read(op: ConstantOp | SizesOp) -> bool:
    """Whether a constant is an output or a layer reads it: operators are told by themselves."""
    readers = [use.operation for use in op.results[0].uses]
    return any(not isinstance(one, Operator) or isinstance(one, ViewOp) for one in readers)


def _is_inner_view(op: Layer) -> bool:
    """Whether a layer reads a view."""
    return isinstance(op, ViewOp) and any(
        isinstance(use.operation, Layer) for use in op.results[0].uses
    )


def _make_input(op: OnnxInputOp) -> None:
    """An Input without a batch of 1; views of it are views of that. Layers that read it with that
    axis read a view.
    """
    extents = without_batch(shape(op.results[0]))
    stated = [0 if is_open(extent) else extent for extent in extents]
    params = dict(zip(EXTENT_NAMES[len(extents)], stated, strict=True))
    made = InputOp.make([], params, name=op.layer_name, blobs=op.blob_names)
    kind = tensor_type(element_of(op.results[0]), extents)
    value = Rewriter.replace_value_with_new_type(made.results[0], kind)
    Rewriter.insert_op(made, InsertPoint.before(op))
    whole = shape(op.results[0])
    readers = [use for use in op.results[0].uses if not isinstance(use.operation, ViewOp)]
    layers = [use for use in readers if isinstance(use.operation, Layer)]
    if layers and whole != extents:
        view = ViewOp.of(value, whole, op.layer_name)
        Rewriter.insert_op(view, InsertPoint.before(op))
        for use in layers:
            use.operation.operands[use.index] = view.results[0]
    Rewriter.replace_op(op, [], new_results=[value])


def _make_memory_data(op: ConstantOp) -> None:
    """A constant that nothing has taken in: an output of the network."""
    extents = without_batch(shape(op.results[0]))
    params = dict(zip(EXTENT_NAMES[len(extents)], extents, strict=True))
    data = {"data": reshaped(op.weight, extents)}
    made = MemoryDataOp.make([], params, data, name=op.layer_name, shapes=[extents])
    Rewriter.insert_op(made, InsertPoint.before(op))
    Rewriter.replace_op(op, [], new_results=made.results)


def _blob(value: SSAValue) -> SSAValue:
    """An output without a batch of 1."""
    extents = without_batch(shape(value))
    source = value
    while isinstance(source.owner, ViewOp):
        source = source.owner.operands[0]
    if shape(source) == extents:
        return source
    if isinstance(value.owner, ViewOp):
        return _reshaped(value.owner, source, extents)
    if isinstance(value.owner, Layer) and not isinstance(value.owner, InputOp):
        return _reshaped_behind(value, extents)
    return value


def _reshaped_behind(value: SSAValue, extents: Shape) -> SSAValue:
    """A Reshape of a layer's result, which takes the name of its blob."""
    layer = value.owner
    assert isinstance(layer, Layer)
    name = layer.layer_name
    made = _reshape_of(value, extents, name)
    Rewriter.insert_op(made, InsertPoint.after(layer))
    return made.results[0]


def _make_reshape(op: ViewOp) -> None:
    """A Reshape in the place of a view; nothing where the shape is the same."""
    value = op.operands[0]
    if op.results[0].uses and shape(value) != op.extents:
        value = _reshaped(op, value, op.extents)
    Rewriter.replace_op(op, [], new_results=[value])


def _reshaped(op: ViewOp, value: SSAValue, extents: Shape) -> SSAValue:
    made = _reshape_of(value, extents, op.layer_name)
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made.results[0]


def _reshape_of(value: SSAValue, extents: Shape, name: str) -> ReshapeOp:
    """A Reshape, with an open extent as the one that is read (0), or as what remains (-1); or with
    expressions, where several are others.
    """
    if is_open(*extents):
        read = dict(zip(EXTENT_NAMES[len(shape(value))], shape(value), strict=True))
        wanted = zip(EXTENT_NAMES[len(extents)], extents, strict=True)
        said = {n: 0 if is_open(e) and read.get(n) == e else e for n, e in wanted}
        others = [axis for axis, extent in said.items() if is_open(extent)]
        if len(others) > 1:
            return _computed_reshape(value, extents, name)
        params: Mapping[str, int] = said | dict.fromkeys(others, REST)
    else:
        params = reshape_params(extents)
    return _typed(ReshapeOp.make([value], params, name=name), extents)


def _computed_reshape(value: SSAValue, extents: Shape, name: str) -> ReshapeOp:
    function = value.owner.parent_op() if isinstance(value.owner, Layer) else None
    assert isinstance(function, FuncOp)
    found = Expressions([value], list(Network(function).inputs.values()))
    names = dict(zip(EXTENT_NAMES[len(extents)], extents, strict=True))
    text = found.text([names[axis] for axis in "whdc" if axis in names])
    return _typed(ReshapeOp.make(found.operands, {"shape_expr": text}, name=name), extents)


def _typed(op: ReshapeOp, extents: Shape) -> ReshapeOp:
    Rewriter.replace_value_with_new_type(op.results[0], tensor_type(f32, extents))
    return op
