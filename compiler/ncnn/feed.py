"""Blobs that the caller feeds although a layer makes them: the second half of a network alone.

    %map = ncnn.Convolution(%data)                   %map = ncnn.Input()
    %rois = ncnn.Proposal(%map, ...)                 %rois = ncnn.Input()
    %crop = ncnn.ROIPooling(%map, %rois)     ->      %crop = ncnn.ROIPooling(%map, %rois)
    func.return %crop                                func.return %crop

Layers and inputs that no output needs any more are left out. So the regions that one run proposes
can be fed one by one to another.

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.ncnn.cut import input_in_place_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.runtime.errors import InputError


def feed(module: ModuleOp, names: Iterable[str]) -> None:
    """Make inputs of those of the named blobs that layers make; the others stay as they are.

    Raises `InputError` where nothing is left that needs one of the named inputs.
    """
    network = Network.of(module)
    layers = network.layers
    made = {
        blob: result
        for op in layers
        if not isinstance(op, InputOp)
        for blob, result in zip(op.blob_names, op.results, strict=True)
    }
    names = list(names)
    inputs = network.inputs
    fed = [made[name] for name in names if name in made]
    for value in fed:
        new = input_in_place_of(value)
        network.function.body.block.insert_op_before(new, layers[0])
        value.replace_all_uses_with(new.results[0])
    if not fed:
        return
    for op in reversed(network.layers):
        if not any(True for result in op.results for _ in result.uses):
            PatternRewriter(op).erase(op)
    left = network.inputs
    for name in names:
        if name in inputs and name not in left:
            others = " and ".join(repr(other) for other in names if other in made)
            message = f"no layer needs the input {name!r} beside {others}: leave it out"
            raise InputError(message, name)
    network.function.update_function_type()
