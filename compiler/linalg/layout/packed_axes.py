"""Finds the axis along which each value of a network can be packed."""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import groups_of
from ncc.compiler.linalg.analysis.uses import producer_of, reader_of
from ncc.dialects.element import ELEMENTS


class PackedAxes:
    """The axes of values, each found once; valid until an operation is rewritten.

    gathered: whether only gathers read a value, as `packed_views.is_gathered` finds.
    `PackChannels` writes blocks beside the operations that it finds, and erases these at the end.
    """

    def __init__(self) -> None:
        self._known: dict[SSAValue, int | None] = {}
        self.gathered: dict[SSAValue, bool] = {}

    def of(self, value: SSAValue) -> int | None:
        """The axis of a value; None where blocks make no sense."""
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def of_packed(self, value: SSAValue) -> int:
        """The axis of a value that is packed."""
        axis = self.of(value)
        if axis is None:
            raise CompilerBug("a value that cannot be packed")
        return axis

    def of_result(self, linalg_op: LinalgOp) -> int | None:
        """The axis of a result, if one loop alone walks it: the output channels of a contraction,
        else the axis where channels usually are.

        Other axes may be walked in strides, as a transposed convolution walks rows and columns.
        """
        axis = self._channels_of(linalg_op)
        return None if axis is None or linalg_op.write.index[axis].bare is None else axis

    def _find(self, value: SSAValue) -> int | None:
        kind = value.type
        if not isinstance(kind, TensorType) or kind.element_type not in ELEMENTS.values():
            return None
        owner = value.owner
        if isinstance(owner, GenericOp) and (axis := self.of_result(LinalgOp(owner))) is not None:
            return axis
        if isinstance(owner, tensor.ExpandShapeOp) and len(shape_of(owner.src)) >= 3:
            axis = self.of(owner.src)
            return None if axis is None else groups_of(owner)[axis][-1]
        return _default_axis(len(kind.get_shape()))

    def _channels_of(self, linalg_op: LinalgOp) -> int | None:
        rank, dims = len(linalg_op.write.index), ContractionDims.of(linalg_op)
        if dims is None or not dims.k:
            user = _accumulation(linalg_op)
            if user is not None:
                return self.of_result(user)
            followed = follows(linalg_op) if rank > 3 else None
            return _default_axis(rank) if followed is None else self.of(followed)
        walked = {form.bare for form in dims.rhs.index} & set(dims.n)
        outs = [k for k, form in enumerate(linalg_op.write.index) if form.bare in walked]
        if outs:
            return outs[0] if rank != 2 or outs[0] == 1 else None
        return _default_axis(rank)


def _default_axis(rank: int) -> int | None:
    """The outermost axis, that of channels. A matrix is packed along its columns: in blocks of
    these its rows lie as they do anyway.
    """
    return None if rank == 0 else 1 if rank == 2 else 0


def follows(linalg_op: LinalgOp) -> SSAValue | None:
    """The operand whose kernel could store a pointwise operation: it alone reads it, in place."""
    if not linalg_op.is_pointwise:
        return None
    for position in linalg_op.live:
        access = linalg_op.reads[position]
        if access.index == linalg_op.write.index and producer_of(access.value) is not None:
            return access.value
    return None


def _accumulation(linalg_op: LinalgOp) -> LinalgOp | None:
    """The contraction that starts from the result of this pointwise operation."""
    result = linalg_op.op.results[0]
    user = reader_of(result) if linalg_op.is_pointwise else None
    return LinalgOp(user) if user is not None and outs_of(user) is result else None
