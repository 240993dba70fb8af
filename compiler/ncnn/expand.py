"""Every layer into the structured level, by its own `expand`.

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
vanishes; the layer's name is left in the `doc` of its computations. A result whose rows only the
run counts becomes one with room for the most there can be.

Needs: shapes.  Breaks: the ncnn dialect (what is left of it is `ncnn.constant`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.ncnn.layer import Layer, Shape, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp


@dataclass(frozen=True)
class ExpandLayers(ModulePass):
    """Replace the network by a function of the structured level."""

    name = "expand-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        network = Network.of(op)
        expanded = expand_network(network)
        parent = network.function.parent_block()
        if parent is None:
            raise CompilerBug("a network stands outside a module", self.name)
        parent.insert_op_before(expanded, network.function)
        network.function.detach()
        network.function.erase()


def expand_network(network: Network) -> FuncOp:
    """A function that computes what the network does, from arguments.

    Raises `Unsupported` where a layer has no expansion, `CompilerBug` where shapes were not
    inferred or an expansion does not have the shape that was.
    """
    inputs = network.inputs
    block = Block(arg_types=[value.type for value in inputs.values()])
    tensors: dict[SSAValue, Tensor] = {
        value: Tensor(argument, _shape(value))
        for value, argument in zip(inputs.values(), block.args, strict=True)
    }
    for value, argument in zip(inputs.values(), block.args, strict=True):
        argument.name_hint = value.name_hint
    for layer in network.layers:
        if not isinstance(layer, InputOp):
            expanded = _expand(layer, block, [tensors[operand] for operand in layer.operands])
            tensors.update(zip(layer.results, expanded, strict=True))
    results = [tensors[value].value for value in network.outputs.values()]
    block.add_op(ReturnOp(*results))
    types = FunctionType.from_lists(list(block.arg_types), [result.type for result in results])
    function = FuncOp(network.function.sym_name.data, types, Region(block))
    function.attributes.update(network.function.attributes)
    function.attributes["inputs"] = ArrayAttr([StringAttr(name) for name in inputs])
    return function


def _expand(layer: Layer, block: Block, operands: list[Tensor]) -> list[Tensor]:
    name = layer.layer_name or layer.LAYER.type
    try:
        expanded = layer.expand_all(Builder(block, name), operands)
    except NotImplementedError as error:
        raise Unsupported(str(error), layer=layer.layer_name, line=layer.line or None) from error
    shapes = [_shape(result) for result in layer.results]
    found = [tensor.shape for tensor in expanded]
    if len(found) != len(shapes) or not all(map(_fits, found, shapes)):
        raise CompilerBug(
            f"layer {name!r} ({layer.LAYER.type}) expands to {found}, not {shapes}",
            ExpandLayers.name,
        )
    for tensor, result in zip(expanded, layer.results, strict=True):
        if tensor.value.name_hint is None:
            tensor.value.name_hint = result.name_hint
    return expanded


def _shape(value: SSAValue) -> Shape:
    shape = shape_of(value)
    if shape is None:
        raise CompilerBug("shapes are not inferred", ExpandLayers.name)
    return shape


def _fits(found: Shape, inferred: Shape) -> bool:
    """Whether an expansion has the inferred shape, with room where the run counts the rows."""
    return len(found) == len(inferred) and all(
        want in (DYNAMIC_INDEX, have) for have, want in zip(found, inferred, strict=True)
    )
