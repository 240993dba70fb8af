"""A part of a network as a network: from one layer to another, by their names.

    %data = ncnn.Input()                             %conv1 = ncnn.Input()
    %conv1 = ncnn.Convolution(%data)                 %relu1 = ncnn.ReLU(%conv1)
    %relu1 = ncnn.ReLU(%conv1)          relu1 to     %conv2 = ncnn.Convolution(%relu1)
    %conv2 = ncnn.Convolution(%relu1)   conv2: ->    func.return %relu1, %conv2
    %sum = ncnn.BinaryOp(%conv2, %relu1)
    func.return %sum

Kept are the layers that stand between the two in file order, and the constants they read. What else
they read becomes an input; what layers behind the cut read becomes an output, as do outputs of the
network that are still made. Splits are forgotten, so that a value has one name.

Needs: nothing; where shapes are known, new inputs say theirs.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, MemoryDataOp, SplitOp
from ncc.runtime.errors import InputError


def cut(module: ModuleOp, start: str | None = None, end: str | None = None) -> None:
    """Keep the layers from `start` to `end`, both included; None is the first or the last.

    Raises `InputError` for a name that is no layer, or where the end stands before the start.
    """
    network = Network.of(module)
    layers = network.layers
    first = 0 if start is None else _position(layers, start)
    last = len(layers) - 1 if end is None else _position(layers, end)
    if last < first:
        raise InputError(f"layer {end!r} stands before layer {start!r}: nothing is between them")
    if last - first == len(layers) - 1:
        return
    kept = set(layers[first : last + 1])
    for op in layers:
        if isinstance(op, SplitOp):
            kept.discard(op)
            PatternRewriter(op).replace(op, [], [op.operands[0]] * len(op.results))
    kept |= {maker for op in kept for maker in _constants(op)}
    _feed(network, kept)
    _return(network, kept)
    for op in reversed(network.layers):
        if op not in kept:
            PatternRewriter(op).erase(op)


def _position(layers: list[Layer], name: str) -> int:
    names = [layer.layer_name for layer in layers]
    if name not in names:
        raise InputError.unknown_name("layer", str(name), names)
    return names.index(name)


def _constants(op: Layer) -> Iterator[MemoryDataOp]:
    for operand in op.operands:
        if isinstance(maker := operand.owner, MemoryDataOp):
            yield maker


def _feed(network: Network, kept: set[Layer]) -> None:
    """Let Inputs make what the layers kept read from others; Inputs nobody reads go."""
    block, first = network.function.body.block, network.layers[0]
    made: dict[SSAValue, InputOp] = {}
    for op in [layer for layer in network.layers if layer in kept]:
        for position, operand in enumerate(op.operands):
            if operand.owner not in kept and operand not in made:
                made[operand] = input_in_place_of(operand)
                block.insert_op_before(made[operand], first)
            if operand in made:
                op.operands[position] = made[operand].results[0]
    kept.update(made.values())
    read = {operand for op in kept for operand in op.operands}
    kept -= {op for op in kept if isinstance(op, InputOp) and not read.intersection(op.results)}


def input_in_place_of(value: SSAValue) -> InputOp:
    """An Input for the result of a layer, with the name of its blob; not inserted yet."""
    owner = value.owner
    if not isinstance(owner, Layer):
        raise CompilerBug("a value of a network that no layer makes", "cut")
    blob = owner.blob_names[owner.results.index(value)] or owner.layer_name
    name = owner.layer_name if isinstance(owner, InputOp) and len(owner.results) == 1 else blob
    shape = shape_of(value)
    if shape is None or min(shape) < 1:
        return InputOp.make([], name=name, blobs=[blob])
    extents = dict(zip(EXTENT_NAMES[len(shape)], shape, strict=True))
    return InputOp.make([], extents, name=name, blobs=[blob], shapes=[shape])


def _return(network: Network, kept: set[Layer]) -> None:
    """Return the earlier outputs, and the values that removed layers read."""
    named = {name: value for name, value in network.outputs.items() if value.owner in kept}
    for op in network.layers:
        if op in kept and not isinstance(op, InputOp | MemoryDataOp):
            for blob, result in zip(op.blob_names, op.results, strict=True):
                if _is_read_outside(result, kept) and result not in named.values():
                    named[blob or op.layer_name] = result
    if not named:
        raise InputError("the cut leaves no output: nobody reads what its layers make")
    network.return_only(named)


def _is_read_outside(value: SSAValue, kept: set[Layer]) -> bool:
    readers = (use.operation for use in value.uses)
    return any(isinstance(reader, Layer) and reader not in kept for reader in readers)
