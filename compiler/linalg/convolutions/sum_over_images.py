"""Sums over windows become sums over the image, if each window sees all of it.

    %p = pad %x by 15
    y[c, u, v] = the sum over k, m of        ->      y[c, u, v] = the sum over i, j of
        p[c, u + k, v + m] * w[c, k, m]                  x[c, i, j] * w[c, i - u + 15, j - v + 15]

On an image of 14 x 14, a window of 31 x 31 has 961 taps, of which 196 meet the image: different
ones for each element of the result. Depthwise convolutions have such windows; this one takes a
fifth of its time. If some windows see less than the whole image along an axis, the axis stays.

Needs: the linalg level before layouts and groups.  Breaks: the order of floating-point sums,
and the NaN of an infinite weight times a zero of the border.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims, Window
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value
from ncc.compiler.linalg.rewrite.insert import builder_for, rebuilt, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.size import is_open
from ncc.dialects.structured import pad_sides


class SumOverImages(LinalgPattern["_Windows"]):
    """Sum over the image if windows are larger."""

    name = "sum-over-images"

    def match(self, op: GenericOp) -> _Windows | str | None:
        linalg_op = LinalgOp(op)
        dims = ConvolutionDims.of(linalg_op)
        if dims is None or not linalg_op.may_be_rebuilt:
            return None
        if dims.output_channel or dims.input_channel:
            return "it sums over channels, too"
        data, weights, pad = dims.input, dims.filter, dims.input.value.owner
        if not isinstance(pad, tensor.PadOp):
            return None
        if pad_value(pad) or not is_constant(weights.value):
            return "its border is not of zeros, or its weights are computed"
        low, shape = pad_sides(pad)[0], shape_of(pad.source)
        windows = {k: one for k, one in enumerate(dims.windows) if one and one.tap is not None}
        if len(windows) < len(dims.filter_loop):
            return "its windows are no axes of the image and of the weights"
        axes: dict[int, Window] = {}
        for axis, one in windows.items():
            if is_open(shape[axis], linalg_op.extents[one.image]):
                continue
            last = one.stride * (linalg_op.extents[one.image] - 1)
            all_seen = last <= low[axis] and low[axis] + shape[axis] <= one.taps
            if one.dilation == 1 and all_seen and shape[axis] < one.taps:
                axes[axis] = one
        if not axes:
            return "some of its windows see less than all of the image, or none reaches beyond it"
        return _Windows(linalg_op, data, weights, pad, axes)

    def rewrite(self, found: _Windows) -> None:
        linalg_op, op = found.linalg_op, found.linalg_op.op
        b = builder_for(op)
        low, high = pad_sides(found.pad)
        front, behind = ([n * (k not in found.axes) for k, n in enumerate(s)] for s in (low, high))
        image = b.pad(tensor_of(found.pad.source), front, behind)
        seen = {one.tap: (one, low[k]) for k, one in found.axes.items()}

        def of_weights(form: AffineForm) -> AffineForm:
            """The tap by which an element of the result sees one of the image."""
            if form.bare is None or form.bare not in seen:
                return form
            window, before = seen[form.bare]
            return AffineForm.of({form.bare: 1, window.image: -window.stride}, before)

        inputs: list[SSAValue] = []
        indices: list[list[AffineForm]] = []
        for access in linalg_op.reads:
            index = list(access.index)
            if access is found.data:
                for axis, window in found.axes.items():
                    index[axis] = found.data.index[axis].without(window.image)
            elif access is found.weights:
                index = list(map(of_weights, index))
            inputs.append(image.value if access is found.data else access.value)
            indices.append(index)
        maps = [
            indexing_map(len(op.iterator_types), index)
            for index in (*indices, linalg_op.write.index)
        ]
        replace_op(op, b, rebuilt(b, op, inputs, tensor_of(outs_of(op)), maps))


class _Windows(NamedTuple):
    """A depthwise convolution of a padded image.

    axes: those along which each window sees all of the image.
    """

    linalg_op: LinalgOp
    data: TensorAccess
    weights: TensorAccess
    pad: tensor.PadOp
    axes: dict[int, Window]
