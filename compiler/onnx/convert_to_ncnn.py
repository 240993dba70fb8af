"""Converts ONNX operators to ncnn layers, wherever a layer is exactly that operator.

    %y = onnx.Conv(%x, %w) : (tensor<1x3x8x8xf32>, ...) -> tensor<1x4x8x8xf32>
    %z = onnx.Relu(%y)
    func.return %z

becomes

    %v = onnx.View(%x) {extents = [3, 8, 8]}
    %c = ncnn.Convolution(%v) {num_output = 4, ...} : (tensor<3x8x8xf32>) -> tensor<4x8x8xf32>
    %r = ncnn.ReLU(%c)
    %z = onnx.View(%r) {extents = [1, 4, 8, 8]}
    func.return %z

Layers have all optimizations, kernels of their own, and names in `ncc explain`. Operators that only
say another shape become views, which move nothing.

Needs: shapes.  Breaks: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ncc.compiler.onnx import convolution as convolution
from ncc.compiler.onnx import elementwise as elementwise
from ncc.compiler.onnx import linear as linear
from ncc.compiler.onnx import movement as movement
from ncc.compiler.onnx.conversion import CONVERSIONS, Conversion, is_float, shape
from ncc.dialects.ncnn.layer import Layer, LayerError
from ncc.dialects.ncnn.network import Network
from ncc.dialects.onnx.movement import ViewOperator
from ncc.dialects.onnx.operator import ConstantOp, Operator
from ncc.dialects.onnx.plumbing import IdentityOp, ViewOp


@dataclass(frozen=True)
class ConvertOnnxToNcnn(ModulePass):
    """`convert-onnx-to-ncnn`"""

    name = "convert-onnx-to-ncnn"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_to_ncnn(op)


def convert_to_ncnn(module: ModuleOp) -> None:
    """Replace the operators of a network that layers express."""
    network = Network.of(module)
    for op in network.layers:
        if isinstance(op, Operator) and not isinstance(op, ConstantOp | ViewOp):
            _convert(op)
    _erase_unread(network)
    network.function.update_function_type()


def _convert(op: Operator) -> None:
    conversion = Conversion(op)
    value: SSAValue | None
    if isinstance(op, IdentityOp):
        value = op.operands[0]
    elif isinstance(op, ViewOperator):
        value = conversion.view(op.operands[0], shape(op.results[0]))
    else:
        value = _made(op, conversion)
    if value is None:
        conversion.undo()
        return
    _name(value, op)
    value = conversion.view(value, shape(op.results[0]))
    value.name_hint = value.name_hint or op.results[0].name_hint
    Rewriter.replace_op(op, [], new_results=[value])


def _name(value: SSAValue, op: Operator) -> None:
    """Give the name of an operator's result to the blob that is it."""
    layer = value.owner
    if isinstance(layer, Layer) and layer.blob_names == ("",):
        layer.attributes["blobs"] = ArrayAttr([StringAttr(op.blob_names[0])])


def _made(op: Operator, conversion: Conversion) -> SSAValue | None:
    convert = CONVERSIONS.get(type(op))
    if convert is None or len(op.results) != 1:
        return None
    if not all(map(is_float, [*op.operands, *op.results])):
        return None
    try:
        return convert(op, conversion)
    except LayerError:
        return None  # the layer does not take these shapes


def _erase_unread(network: Network) -> None:
    """Leave out constants and views that nobody reads any more."""
    for op in reversed(network.layers):
        if isinstance(op, ConstantOp | ViewOp) and not op.results[0].uses:
            Rewriter.erase_op(op)
