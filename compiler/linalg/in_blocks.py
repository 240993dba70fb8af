"""A computation of an image on blocks: halves of its channels (k), its rows two by two (n).

    %d[c, h, w] = depthwise(%x)               %d[i, k, r, n, w], c = k*I/2 + i, h = 2r + n
    %y = pointwise(%d)                ->      %y = pointwise(%d)

The kernel that makes such a value has all blocks of a point at hand, and can store sums of them in
their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, f32
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ncc.compiler.linalg.convolve import padded
from ncc.compiler.linalg.insert import tensor_of
from ncc.compiler.linalg.parts import span
from ncc.compiler.linalg.strips import ROWS, view_moves
from ncc.compiler.linalg.view import Access, Role, View, constant_number, expression, shape_of
from ncc.dialects.attributes import segments
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of
from ncc.dialects.operation import copied, make

CHANNEL, HALF, PAIR, ROW, COLUMN = range(5)
"""The loops of a value in blocks."""


def windows_behind(value: SSAValue) -> list[GenericOp]:
    """What makes the value channel by channel for one reader, the last first; or nothing.

    Pointwise computations, and in front of them a sum over a window of the same channel.
    """
    ops: list[GenericOp] = []
    while isinstance(value.owner, GenericOp) and value.has_one_use():
        view = View(value.owner)
        if not _by_channel(view):
            return []
        ops.append(view.op)
        if view.reduced:
            return ops if view.product() and Role.OUT not in view.roles().values() else []
        same = [a.value for a in view.reads if a.index == view.write.index]
        made = [v for v in same if isinstance(v.owner, GenericOp) and v.has_one_use()]
        if len(made) != 1:
            return []
        value = made[0]
    return []


def _by_channel(view: View) -> bool:
    """Whether each loop of the result stands alone, and channels do in what is read."""
    bare = [form.bare for form in view.write.index]
    if len(bare) != 3 or None in bare or view.indexed or view.captured or view.op.attributes:
        return False
    start = view.op.outputs[0].owner
    if isinstance(start, GenericOp) and not (View(start).is_pointwise and _by_channel(View(start))):
        return False
    if not isinstance(start, GenericOp | FillOp | tensor.EmptyOp) or len(view.live) != len(
        view.reads
    ):
        return False
    if any(element_of(value) != f32 for value in view.op.operands):
        return False
    return all(_has_channels_alone(access, bare[0]) for access in view.reads)


def _has_channels_alone(access: Access, channel: int | None) -> bool:
    forms = [form for form in access.index if channel is not None and form.coefficient(channel)]
    return len(forms) <= 1 and all(form.bare == channel for form in forms)


def sources(ops: Sequence[GenericOp], rows: int) -> dict[SSAValue, SSAValue]:
    """What the computations read from elsewhere, made long enough for so many rows."""
    starts = [op.outputs[0].owner for op in ops]
    readers: dict[SSAValue, list[tuple[GenericOp, int]]] = {}
    needed: dict[SSAValue, int] = {}
    for op in [*ops, *(start for start in starts if isinstance(start, GenericOp))]:
        view = View(op)
        for position, access in enumerate(view.reads):
            if len(access.index) == 3 and view_moves(access, view):
                last = span(access, view, ROWS, 0, rows)[1]
                needed[access.value] = max(last, needed.get(access.value, 0))
                readers.setdefault(access.value, []).append((op, position))
    made = {op.results[0] for op in ops}
    found: dict[SSAValue, SSAValue] = {}
    for value, last in needed.items():
        if value not in made:
            longer = padded(value, last, 0)
            op, position = readers[value][0]
            found[op.operands[position]] = longer
    return found


def in_blocks(
    b: Builder,
    ops: Sequence[GenericOp],
    sources: Mapping[SSAValue, SSAValue],
    first: int,
    pairs: int,
) -> Tensor:
    """What `windows_behind` has found, for so many pairs of rows from `first` on."""
    made: dict[SSAValue, Tensor] = {}
    for op in reversed(ops):
        made[op.results[0]] = _in_blocks(b, op, made, sources, first, pairs)
    return made[ops[0].results[0]]


def _in_blocks(
    b: Builder,
    op: GenericOp,
    made: Mapping[SSAValue, Tensor],
    sources: Mapping[SSAValue, SSAValue],
    first: int,
    pairs: int,
) -> Tensor:
    view = View(op)
    channels, _, width = shape_of(op.results[0])
    shape = [channels // 2, 2, pairs, 2, width]
    channel, row, column = (form.bare for form in view.write.index)
    others = [d for d in range(len(view.extents)) if d not in (channel, row, column)]
    own = [expression({d: 1}, 0) for d in range(len(shape))]
    operands: list[SSAValue] = []
    indices: list[list[AffineExpr]] = []
    for access in view.reads:
        if access.value in made:
            operands.append(made[access.value].value)
            indices.append(own)
        else:
            value = sources.get(access.value, access.value)
            operands.append(_halved(b, value, access, channel).value)
            indices.append(_index(access, view, first))
    loops = (channel, channel, row, row, column, *others)
    outs = _start(b, op, sources, shape, first, pairs)
    maps = [AffineMap(len(loops), 0, tuple(index)) for index in [*indices, own]]
    new = make(
        GenericOp,
        operands=[*operands, outs.value],
        result_types=[outs.value.type],
        properties={
            "indexing_maps": ArrayAttr([AffineMapAttr(map) for map in maps]),
            "iterator_types": ArrayAttr(
                [op.iterator_types.data[d] for d in loops if d is not None]
            ),
            "operandSegmentSizes": segments(len(operands), 1),
            **({"doc": op.doc} if op.doc is not None else {}),
        },
        regions=[copied(op.body)],
    )
    b.block.add_op(new)
    return Tensor(new.results[0], outs.shape)


def _index(access: Access, view: View, first: int) -> list[AffineExpr]:
    """The index of an access, whose channels are in halves, by the loops of blocks."""
    channel, row, column = (form.bare for form in view.write.index)
    others = [d for d in range(len(view.extents)) if d not in (channel, row, column)]
    renamed: dict[int | None, int] = {column: COLUMN}
    renamed.update((d, COLUMN + 1 + k) for k, d in enumerate(others))
    index: list[AffineExpr] = []
    for form in access.index:
        if form.bare == channel:
            index += [expression({HALF: 1}, 0), expression({CHANNEL: 1}, 0)]
            continue
        step = 0 if row is None else form.coefficient(row)
        terms = {renamed[d]: f for d, f in form.terms if d != row}
        rows = {PAIR: 2 * step, ROW: step}
        index.append(expression({**terms, **rows}, form.constant + step * first))
    return index


def _start(
    b: Builder,
    op: GenericOp,
    sources: Mapping[SSAValue, SSAValue],
    shape: Sequence[int],
    first: int,
    pairs: int,
) -> Tensor:
    """What the computation starts from."""
    start = op.outputs[0].owner
    if isinstance(start, GenericOp):
        return _in_blocks(b, start, {}, sources, first, pairs)
    number = constant_number(start.inputs[0]) if isinstance(start, FillOp) else None
    return b.empty(shape) if number is None else b.full(shape, number)


def _halved(b: Builder, value: SSAValue, access: Access, channel: int | None) -> Tensor:
    """A value with the channels in halves, where the access has them."""
    x = tensor_of(value)
    axes = [axis for axis, form in enumerate(access.index) if form.bare == channel]
    if not axes:
        return x
    (axis,) = axes
    groups = [[k + (k > axis)] for k in range(x.rank)]
    groups[axis] = [axis, axis + 1]
    return b.expand(x, groups, [*x.shape[:axis], 2, x.shape[axis] // 2, *x.shape[axis + 1 :]])
