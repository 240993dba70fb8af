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
say another shape become views, which move nothing. For files that ncnn runs, some operators become
several layers (`composed`).

Needs: shapes.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr, f32, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ncc.compiler.onnx import convolution as convolution
from ncc.compiler.onnx import elementwise as elementwise
from ncc.compiler.onnx import linear as linear
from ncc.compiler.onnx import movement as movement
from ncc.compiler.onnx import normalization as normalization
from ncc.compiler.onnx import reduction as reduction
from ncc.compiler.onnx.composed import folds as folds
from ncc.compiler.onnx.composed import masks as masks
from ncc.compiler.onnx.composed import moves as moves
from ncc.compiler.onnx.composed import norms as norms
from ncc.compiler.onnx.composed import pointwise as pointwise
from ncc.compiler.onnx.composed import powers as powers
from ncc.compiler.onnx.composed import sampling as sampling
from ncc.compiler.onnx.composed import sequences as sequences
from ncc.compiler.onnx.composed import sums as sums
from ncc.compiler.onnx.conversion import COMPOSITIONS, CONVERSIONS, INEXACT, Conversion, Convert
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import Layer, LayerError
from ncc.dialects.ncnn.movement.reshape import MAX_RANK, ReshapeOp, reshape_params
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.onnx.movement import ViewOperator
from ncc.dialects.onnx.operator import ConstantOp, Operator, SizesOp
from ncc.dialects.onnx.plumbing import IdentityOp, ViewOp
from ncc.dialects.size import NeedsNumbers, assume_all, assuming, is_open


class ConvertOnnxToNcnn(ModulePass):
    """`convert-onnx-to-ncnn`"""

    name = "convert-onnx-to-ncnn"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_to_ncnn(op)


def convert_to_ncnn(module: ModuleOp, composed: bool = False) -> None:
    """Replace the operators of a network that layers express.

    composed: also those that several layers express together.
    """
    network = Network.of(module)
    for op in network.layers:
        if not isinstance(op, Operator) or isinstance(op, ConstantOp | SizesOp | ViewOp):
            continue
        if _is_known(op):
            _convert(op, composed)
    _erase_unread(network)
    if not composed:
        _make_reshapes(network)
    network.function.update_function_type()


def _is_known(op: Operator) -> bool:
    """Whether no value has rows that only the run counts: those stay at their own rank."""
    return not any(DYNAMIC_INDEX in shape(value) for value in (*op.operands, *op.results))


def _convert(op: Operator, composed: bool) -> None:
    conversion = Conversion(op, composed)
    values: Sequence[SSAValue] | None
    if isinstance(op, IdentityOp):
        values = [op.operands[0]]
    elif isinstance(op, ViewOperator):
        values = [conversion.view(op.operands[0], shape(op.results[0]))]
    else:
        values = None
        if not composed or type(op) not in INEXACT:
            values = _made(op, conversion, CONVERSIONS, (f32,))
        if values is None and composed:
            conversion.undo()
            values = _made(op, conversion, COMPOSITIONS, (f32, i1))
    if values is None:
        conversion.undo()
        return
    if not isinstance(op, IdentityOp | ViewOperator):
        _name(values, op)
    shown = []
    for value, result in zip(values, op.results, strict=True):
        shown.append(conversion.view(value, shape(result)))
        shown[-1].name_hint = shown[-1].name_hint or result.name_hint
    Rewriter.replace_op(op, [], new_results=shown)


def _name(values: Sequence[SSAValue], op: Operator) -> None:
    """Give the names of an operator's results to the blobs that are these."""
    layer = values[0].owner
    if isinstance(layer, Layer) and not any(layer.blob_names):
        count = len(layer.results)
        if list(values[:count]) == list(layer.results):
            layer.attributes["blobs"] = ArrayAttr(map(StringAttr, op.blob_names[:count]))


def _made(
    op: Operator,
    conversion: Conversion,
    table: Mapping[type[Operator], Convert],
    elements: Sequence[Attribute],
) -> Sequence[SSAValue] | None:
    """The results as layers; None if they are none. elements: the types that values may have.

    An operator that stays takes all sizes, so that only one that becomes a layer assumes something.
    """
    convert = table.get(type(op))
    settled = op.settling()
    used = [value for k, value in enumerate(op.operands) if k not in settled]
    run = [value for value in used if not isinstance(value.owner, ConstantOp)]
    if convert is None or any(element_of(value) not in elements for value in (*run, *op.results)):
        return None
    with assuming(kept=False) as assumed:
        try:
            made = convert(op, conversion)
        except (LayerError, NeedsNumbers):
            return None  # the layer does not take these shapes, or cannot say what open ones decide
    if made is not None:
        assume_all(assumed)
    return [made] if isinstance(made, SSAValue) else made


def _erase_unread(network: Network) -> None:
    """Leave out constants and views that nobody reads any more."""
    for op in reversed(network.layers):
        if isinstance(op, ConstantOp | SizesOp | ViewOp) and not op.results[0].uses:
            Rewriter.erase_op(op)


def _make_reshapes(network: Network) -> None:
    """Views between layers as a Reshape, which optimizations know, where extents are numbers."""
    for op in network.layers:
        if isinstance(op, ViewOp) and _is_between_layers(op):
            x, extents = op.operands[0], op.extents
            made = ReshapeOp.make([x], reshape_params(extents), name=op.layer_name)
            Rewriter.replace_value_with_new_type(made.results[0], op.results[0].type)
            Rewriter.replace_op(op, [made], new_results=made.results)


def _is_between_layers(op: ViewOp) -> bool:
    """Whether blobs are on both sides."""
    x, result = op.operands[0], op.results[0]
    layers = [x.owner, *(use.operation for use in result.uses)]
    inner = all(isinstance(one, Layer) and not isinstance(one, Operator) for one in layers)
    blobs = all(1 <= len(shape(value)) <= MAX_RANK for value in (x, result))
    known = not is_open(*shape(x), *shape(result)) and element_of(x) == f32
    return inner and blobs and known and not isinstance(x.owner, InputOp)
