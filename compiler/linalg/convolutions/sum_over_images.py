"""Windows that see all of an image wherever they lie, as sums over the image.

    %p = pad %x by 15
    y[c, u, v] = the sum over k, m of        ->      y[c, u, v] = the sum over i, j of
        p[c, u + k, v + m] * w[c, k, m]                  x[c, i, j] * w[c, i - u + 15, j - v + 15]

A window of 31 x 31 on an image of 14 x 14 has 961 cells, 196 of which lie in the image: each cell
of the result is computed by others of them. Depthwise convolutions have such windows. Along an axis
where some of them see less than all of the image, windows stay.

A depthwise convolution of 31 x 31 on 14 x 14 takes a fifth of its time then.

Needs: the linalg level before layouts and groups.  Breaks: the order of floating-point sums,
and what an infinite weight makes of a border of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_sides, pad_value
from ncc.compiler.linalg.rewrite.insert import builder_for, rebuilt, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.linalg_pass import LinalgPass


@dataclass(frozen=True)
class SumOverImages(LinalgPass):
    """Sum over the cells of an image where a window has more; see the head of this file."""

    name = "sum-over-images"

    def rewrite(self, op: GenericOp) -> None:
        found = _Windows.of(op)
        if found is not None:
            found.rewrite()


@dataclass(frozen=True)
class _Windows:
    """A depthwise convolution of a padded image.

    axes: those along which each window sees all of the image, with the loops over cells of the
    result and over taps.
    """

    linalg_op: LinalgOp
    data: TensorAccess
    weights: TensorAccess
    pad: tensor.PadOp
    axes: dict[int, tuple[int, int]]

    @staticmethod
    def of(op: GenericOp) -> _Windows | None:
        linalg_op = LinalgOp(op)
        pair = linalg_op.product
        if pair is None or not linalg_op.reduced or op.attributes:
            return None
        data, weights = (linalg_op.reads[k] for k in pair)
        pad = data.value.owner
        if not isinstance(pad, tensor.PadOp) or pad_value(pad) or not is_constant(weights.value):
            return None
        low, shape = pad_sides(pad)[0], shape_of(pad.source)
        axes: dict[int, tuple[int, int]] = {}
        for axis, form in enumerate(data.index):
            taps = [d for d in form.loops() if d in linalg_op.reduced]
            cells = [d for d in form.loops() if d not in linalg_op.reduced]
            if not taps:
                continue
            if len(taps) > 1 or len(cells) != 1 or not _alone(linalg_op, taps[0], data, weights):
                return None
            (tap,), (cell,) = taps, cells
            last = form.coefficient(cell) * (linalg_op.extents[cell] - 1)
            all_seen = last <= low[axis] and low[axis] + shape[axis] <= linalg_op.extents[tap]
            step = form.coefficient(tap) == 1 and not form.constant
            if step and all_seen and shape[axis] < linalg_op.extents[tap]:
                axes[axis] = cell, tap
        depthwise = sum(len(form.loops()) for form in data.index) == len(
            linalg_op.op.iterator_types
        )
        return _Windows(linalg_op, data, weights, pad, axes) if axes and depthwise else None

    def rewrite(self) -> None:
        """Put the sum over the image in place of it."""
        linalg_op, op = self.linalg_op, self.linalg_op.op
        b = builder_for(op)
        low, high = pad_sides(self.pad)
        front, behind = ([n * (k not in self.axes) for k, n in enumerate(s)] for s in (low, high))
        image = b.pad(tensor_of(self.pad.source), front, behind)
        steps = {tap: (k, self.data.index[k].coefficient(c)) for k, (c, tap) in self.axes.items()}

        def of_weights(form: AffineForm) -> AffineForm:
            """The tap through which a cell of the result sees one of the image."""
            if form.bare not in steps:
                return form
            axis, step = steps[form.bare]
            return AffineForm.of({form.bare: 1, self.axes[axis][0]: -step}, low[axis])

        inputs: list[SSAValue] = []
        indices: list[list[AffineForm]] = []
        for access in linalg_op.reads:
            index = list(access.index)
            if access is self.data:
                for axis, (_, tap) in self.axes.items():
                    index[axis] = AffineForm.of({tap: 1})
            elif access is self.weights:
                index = list(map(of_weights, index))
            inputs.append(image.value if access is self.data else access.value)
            indices.append(index)
        maps = [
            indexing_map(len(op.iterator_types), index)
            for index in (*indices, linalg_op.write.index)
        ]
        replace_op(op, b, rebuilt(b, op, inputs, tensor_of(outs_of(op)), maps))


def _alone(linalg_op: LinalgOp, tap: int, data: TensorAccess, weights: TensorAccess) -> bool:
    """Whether a loop over taps is an axis of the weights, and read once more, by the data."""
    read = [access for access in linalg_op.reads for form in access.index if tap in form.loops()]
    return len(read) == 2 and data in read and any(form.bare == tap for form in weights.index)
