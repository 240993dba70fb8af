"""Converts every layer to linalg with its own `lower`.

    func.func @network() -> tensor<8xf32> attributes {outputs = ["y"]} {
      %x = ncnn.Input() {blobs = ["data"], ...} : () -> tensor<8xf32>
      %y = ncnn.ReLU(%x) {layer = "relu1"} : (tensor<8xf32>) -> tensor<8xf32>
      func.return %y : tensor<8xf32>
    }

becomes

    func.func @network(%x: tensor<8xf32>) -> tensor<8xf32>
        attributes {inputs = ["data"], outputs = ["y"]} {
      %y = linalg.generic {..., doc = "relu1"} ins(%x : ...) outs(%0 : ...) {...}
      func.return %y : tensor<8xf32>
    }

Arguments are the network's inputs in the order of the file. A layer that only hands its operand on
vanishes, and so does one that no output needs; the layer's name is left in the `doc` of its linalg
operations. A result whose rows only the run counts becomes one with room for the most there can be.
An input or output that grows from run to run becomes a row of elements, and `growing` keeps its
type; the run tells in one more argument what they have grown to. A scalar becomes a row of one
element, and an input that is only read under another shape gets that, as does an output that is
made under another: `interface` keeps their types.

Needs: shapes.  Breaks: the ncnn dialect (what is left of it is `ncnn.constant`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import CompilerBug, ModelError, Unsupported
from ncc.compiler.ncnn.any_size import check_any_size, check_tables
from ncc.compiler.ncnn.counted_rows import is_row_wise
from ncc.compiler.ncnn.shape_problems import shape_problem, unknown_extents
from ncc.compiler.ncnn.sizes import check_sizes, check_steps
from ncc.dialects.attributes import extents_of
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Layer, Shape, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.param import LayerError, NotYet
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.onnx.operator import ConstantOp as ConstantNode
from ncc.dialects.onnx.operator import SizesOp
from ncc.dialects.onnx.plumbing import ViewOp
from ncc.dialects.row_wise import with_header
from ncc.dialects.size import assuming
from ncc.dialects.structured import INTERFACE
from ncc.dialects.weights.weight import ConstantOp


@dataclass(frozen=True)
class ConvertNcnnToLinalg(ModulePass):
    """Replace the network by a function of the linalg level."""

    name = "convert-ncnn-to-linalg"

    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        network = Network.of(op)
        expanded = expand_network(network, self.threads)
        parent = network.function.parent_block()
        if parent is None:
            raise CompilerBug("a network stands outside a module", self.name)
        parent.insert_op_before(expanded, network.function)
        network.function.detach()
        network.function.erase()


def expand_network(network: Network, threads: int = 1) -> FuncOp:
    """The linalg function of a network, for so many threads.

    Raises `Unsupported` where a layer has no lowering, `ModelError` where what it says has no
    meaning, or memory no room for its values, `CompilerBug` where shapes were not inferred or a
    lowering does not have the shape that was.
    """
    inputs = network.inputs
    block = Block(arg_types=[_argument_type(_inside(value)) for value in inputs.values()])
    tensors: dict[SSAValue, Tensor] = {}
    for value, argument in zip(inputs.values(), block.args, strict=True):
        tensors[value] = Tensor(argument, _shape(_inside(value)))
        views = [use.operation.results[0] for use in value.uses if _inside(value) is not value]
        tensors.update(dict.fromkeys(views, tensors[value]))
        argument.name_hint = value.name_hint
    needed = network.needed
    checked: set[Hashable] = set()
    for layer in network.layers:
        known = all(result in tensors for result in layer.results)
        if layer in needed and not known:
            builder = Builder(block, _name_of(layer), threads)
            operands = [tensors[operand] for operand in layer.operands]
            try:
                expanded = _expand(layer, builder, operands, checked)
            except LayerError as error:
                raise ModelError(shape_problem(layer, error, network.source)) from error
            tensors.update(zip(layer.results, expanded, strict=True))
    results = [
        with_header(Builder(block, name), tensors[_made(value)]).value
        for name, value in network.outputs.items()
    ]
    _erase_unread(block, results)
    block.add_op(ReturnOp(*results))
    types = FunctionType.from_lists(list(block.arg_types), [result.type for result in results])
    function = FuncOp(network.function.sym_name.data, types, Region(block))
    function.attributes.update(network.function.attributes)
    function.attributes["inputs"] = ArrayAttr([StringAttr(name) for name in inputs])
    types_inside = [*block.arg_types[: len(inputs)], *(result.type for result in results)]
    others = {
        name: value.type
        for (name, value), inside in zip(_named(network), types_inside, strict=True)
        if _reshaped(value.type, inside)
    }
    if others:
        function.attributes[INTERFACE] = DictionaryAttr(others)
    return function


def _named(network: Network) -> list[tuple[str, SSAValue]]:
    """Inputs, then outputs, with their names."""
    return [*network.inputs.items(), *network.outputs.items()]


def _reshaped(outside: Attribute, inside: Attribute) -> bool:
    """Whether code has a value under another shape than users."""
    if not isinstance(outside, TensorType) or DYNAMIC_INDEX in extents_of(outside):
        return False
    return isinstance(inside, TensorType) and outside != inside


def _inside(value: SSAValue) -> SSAValue:
    """What an input is for code: the view of it, where nothing else reads it."""
    readers = [use.operation for use in value.uses]
    views = [reader.results[0] for reader in readers if isinstance(reader, ViewOp)]
    if not views or len(views) < len(readers) or len({view.type for view in views}) > 1:
        return value
    return views[0]


def _made(value: SSAValue) -> SSAValue:
    """What an output is for code: what a layer makes, in place of a view of it."""
    if not isinstance(value.owner, ViewOp):
        return value
    made = value.owner.operands[0]
    is_layer = isinstance(made.owner, Layer) and not isinstance(
        made.owner, InputOp | ConstantNode | SizesOp
    )
    return made if is_layer else value


def _erase_unread(block: Block, results: Collection[SSAValue]) -> None:
    """Leave out the constants that nobody reads: those that decided shapes."""
    for op in list(block.ops):
        if isinstance(op, ConstantOp) and not op.result.uses and op.result not in results:
            Rewriter.erase_op(op)


def _argument_type(value: SSAValue) -> Attribute:
    """The type of an input."""
    if _shape(value) == ():
        return TensorType(element_of(value), [1])
    return value.type


def _name_of(layer: Layer) -> str:
    """The name of a layer in reports."""
    return layer.layer_name or layer.type_name


def _expand(
    layer: Layer, builder: Builder, operands: list[Tensor], checked: set[Hashable]
) -> list[Tensor]:
    """checked: the kinds of layers so far that are right for every size."""
    name = _name_of(layer)
    last = builder.block.last_op
    check_sizes(layer, [x.shape for x in operands], ())
    try:
        check_tables(layer, operands)
        with assuming() as assumed:
            expanded = layer.expand_all(builder, operands)
        made = _behind(builder.block, last)
        check_any_size(layer, made, operands, builder.threads, assumed, checked)
    except NotImplementedError as error:
        raise Unsupported(str(error), layer=layer.layer_name, line=layer.line or None) from error
    except NotYet as error:
        what = f"{layer.type_name}: {error.message}"
        raise Unsupported(what, how=error.how, layer=name, line=layer.line or None) from error
    check_steps(made)
    if not layer.READS_COUNTED and any(x.count is not None for x in operands):
        if not is_row_wise(layer, made, operands, expanded):
            raise unknown_extents(layer)
        count = next(x.count for x in operands if x.count is not None)
        expanded = [replace(tensor, count=count) for tensor in expanded]
    shapes = [_shape(result) for result in layer.results]
    found = [tensor.shape for tensor in expanded]
    if len(found) != len(shapes) or not all(map(_fits, found, shapes)):
        raise CompilerBug(
            f"layer {name!r} ({layer.type_name}) expands to {found}, not {shapes}",
            ConvertNcnnToLinalg.name,
        )
    for tensor, result in zip(expanded, layer.results, strict=True):
        if tensor.value.name_hint is None:
            tensor.value.name_hint = result.name_hint
    return expanded


def hindrances(network: Network, threads: int = 1) -> list[Unsupported]:
    """Why layers have no lowering for the shapes that were inferred: each by itself, so that all
    are found. Those that read values of unknown extents are left out.
    """
    found = []
    for layer in network.layers:
        if isinstance(layer, InputOp):
            continue
        shapes = [shape_of(operand) for operand in layer.operands]
        known = [shape for shape in shapes if shape is not None and DYNAMIC_INDEX not in shape]
        if len(known) < len(shapes):
            continue
        block = Block(arg_types=[operand.type for operand in layer.operands])
        try:
            with assuming(kept=False):
                operands = list(map(Tensor, block.args, known))
                builder = Builder(block, _name_of(layer), threads=threads)
                _expand(layer, builder, operands, set())
        except Unsupported as error:
            found.append(error)
    return found


def _behind(block: Block, last: Operation | None) -> list[Operation]:
    """The operations of a block that come after one; all where that is none."""
    found = []
    op = block.first_op if last is None else last.next_op
    while op is not None:
        found.append(op)
        op = op.next_op
    return found


def _shape(value: SSAValue) -> Shape:
    shape = shape_of(value)
    if shape is None:
        raise CompilerBug("shapes are not inferred", ConvertNcnnToLinalg.name)
    return shape


def _fits(found: Shape, inferred: Shape) -> bool:
    """Whether a lowering has the inferred shape, with room where the run counts the rows."""
    return len(found) == len(inferred) and all(
        want in (DYNAMIC_INDEX, have) for have, want in zip(found, inferred, strict=True)
    )
