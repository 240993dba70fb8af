"""The axis along which each value of a network can be packed."""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.tensors import groups_of, is_constant
from ncc.compiler.linalg.view import Role, View, outs_of, shape_of
from ncc.dialects.element import BLOB_ELEMENTS


class PackedAxes:
    """The axes of values, each found once: good until an operation is rewritten. So is `selected`:
    whether only selections read a value, as `packed_views.is_selected` finds.

    `Pack` writes blocks beside the operations that it finds, and erases these when all are written.
    """

    def __init__(self) -> None:
        self._known: dict[SSAValue, int | None] = {}
        self.selected: dict[SSAValue, bool] = {}

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

    def of_result(self, view: View) -> int | None:
        """The axis of what a computation makes, if one loop alone walks it: the output channels of
        a contraction, else the axis that channels usually are.

        Other axes may be walked in strides, as a transposed convolution walks rows and columns.
        """
        axis = self._channels_of(view)
        return None if axis is None or view.write.index[axis].bare is None else axis

    def _find(self, value: SSAValue) -> int | None:
        kind = value.type
        if not isinstance(kind, TensorType) or kind.element_type not in BLOB_ELEMENTS.values():
            return None
        owner = value.owner
        if isinstance(owner, GenericOp) and (axis := self.of_result(View(owner))) is not None:
            return axis
        if isinstance(owner, tensor.ExpandShapeOp) and len(shape_of(owner.src)) >= 3:
            axis = self.of(owner.src)
            return None if axis is None else groups_of(owner)[axis][-1]
        return _default_axis(len(kind.get_shape()))

    def _channels_of(self, view: View) -> int | None:
        rank, product = len(view.write.index), view.product
        if not view.reduced or product is None:
            user = _accumulation(view)
            if user is not None:
                return self.of_result(user)
            followed = follows(view) if rank > 3 else None
            return _default_axis(rank) if followed is None else self.of(followed)
        roles = view.roles
        loops = [form.bare for form in view.write.index]
        walked = {form.bare for form in view.reads[product[1]].index}
        outs = [
            k
            for k, d in enumerate(loops)
            if d is not None and d in walked and roles.get(d) is Role.OUT
        ]
        if outs:
            return outs[0] if rank != 2 or outs[0] == 1 else None
        return _default_axis(rank)


def _default_axis(rank: int) -> int | None:
    """The outermost axis, that of channels. A matrix is packed along its columns: in blocks of
    these its rows lie as they do anyway.
    """
    return None if rank == 0 else 1 if rank == 2 else 0


def follows(view: View) -> SSAValue | None:
    """The result that a pointwise computation could be stored with: it alone reads it, in place."""
    if not view.is_pointwise:
        return None
    for position in view.live:
        access = view.reads[position]
        made = isinstance(access.value.owner, GenericOp) and not is_constant(access.value)
        if made and access.index == view.write.index and access.value.has_one_use():
            return access.value
    return None


def _accumulation(view: View) -> View | None:
    """The contraction that starts from what this pointwise computation makes."""
    uses = list(view.op.results[0].uses)
    if not view.is_pointwise or len(uses) != 1 or not isinstance(uses[0].operation, GenericOp):
        return None
    user = uses[0].operation
    return View(user) if outs_of(user) is view.op.results[0] else None
