"""Reads a call as a kernel: linalg on the subviews of the call, loops in normal form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import TensorType, f16, f32
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.linalg_op import (
    LinalgOp,
    constant_number,
    fill_number,
    outs_of,
    shape_of,
)
from ncc.compiler.loops.kernel.k_split import k_split
from ncc.compiler.loops.kernel.kernel import (
    Access,
    Bf16Split,
    Captured,
    GatherTable,
    Kernel,
    Stage,
    size_ops,
)
from ncc.compiler.loops.kernel.normal_form import collapsed, normalised
from ncc.compiler.loops.kernel.padding_lanes import padding_lanes, source_at
from ncc.compiler.loops.kernel.products import product_of
from ncc.compiler.loops.kernel.stable_text import region_text, stable_text
from ncc.compiler.plan import Call, Subview
from ncc.compiler.target import AVX512, Target
from ncc.dialects.attributes import extents_of
from ncc.dialects.element import i24, number
from ncc.dialects.operation import ops_of
from ncc.dialects.weights.derived import Blocked, Folded


def kernel_of(call: Call, target: Target | None = None) -> Kernel:
    """The kernel of a call, with loops in normal form.

    target: its short vectors may leave out padding lanes; without a target, all lanes are computed.
    The loops of a separable transform stay as they are, since its emitter knows them by their
    inputs. So do those of a gather of channels: block, row, column, lane. But where the run tells
    for how many tiles a kernel transforms weights, these are one loop, which it cuts into whole
    register tiles.
    """
    reader = _Reader(call)
    kernel = reader.read()
    kernel = replace(kernel, body_sizes=tuple(op.size.data for op in size_ops(kernel.stages)))
    if target is not None and kernel.reduced and kernel.accumulates:
        kernel = replace(
            kernel, valid_extents=(*kernel.valid_extents, *reader.padding_lanes(kernel, target))
        )
    if kernel.forms_weights and kernel.is_open:
        return collapsed(kernel)
    if kernel.matrices is not None or kernel.lanes is not None:
        return kernel
    return normalised(kernel, (target or AVX512).costs.threads)


def text_of(call: Call) -> str:
    """All that a kernel depends on but the target: calls of one text have one kernel."""
    held = [(subview.strides, _blocks_at(subview)) for subview in call.subviews]
    return f"{stable_text(held)}\n{region_text(call.function.body)}"


def _blocks_at(subview: Subview) -> tuple[object, ...]:
    """What a kernel asks of its weights: whether blocks have padding, or split k."""
    match source_at(subview):
        case Folded() as source:
            return source.outputs, source.times
        case Blocked() as source:
            whole = shape_of(subview.buffer.value)
            return source.axes, source.block, source.of.shape, subview.offset, whole
        case _:
            return ()


class _Reader:
    """Reads an outlined function with the strides of one call."""

    def __init__(self, call: Call) -> None:
        self.subviews = [*call.operands, *call.results]
        self.function = call.function
        block = call.function.body.block
        returned = block.last_op
        if not isinstance(returned, func.ReturnOp):
            raise CompilerBug("a kernel without a return")
        self.results = returned.operands
        self.argument_of: dict[SSAValue, int] = {a: a.index for a in block.args}
        self.views = [LinalgOp(op) for op in ops_of(block) if isinstance(op, GenericOp)]
        self.fills = [op for op in ops_of(block) if isinstance(op, FillOp)]
        types = [*(a.type for a in block.args), *(v.type for v in returned.operands)]
        self.element_types = tuple(t.element_type for t in types if isinstance(t, TensorType))

    def read(self) -> Kernel:
        """The group as a kernel; its loops are those of the anchor."""
        if not self.views:
            return self._fill()
        linalg_op = self.anchor
        split = next((view for view in self.views[1:] if view.bf16_split), None)
        bf16_split = None if split is None else self._bf16_split(split)
        index_of: dict[int, int | None] = {d: d for d in linalg_op.indexed}
        return Kernel(
            extents=linalg_op.extents,
            reduced=frozenset(linalg_op.reduced),
            valid_extents=linalg_op.valid_extents,
            anchor=self._stage(linalg_op, self._identity, None),
            accumulates=linalg_op.reads_outs,
            initial=self._initial() if linalg_op.reads_outs else 0.0,
            epilogue=tuple(self._epilogue()),
            store=self._store(bf16_split),
            element_types=self.element_types,
            captured=self._captured(linalg_op),
            index_of=index_of if split is None else dict.fromkeys(split.indexed),
            matrices=linalg_op.separable,
            lanes=linalg_op.lanes,
            bf16_split=bf16_split,
            k_split=k_split(linalg_op, self._subview_of),
        )

    @cached_property
    def _subview_of(self) -> dict[SSAValue, Subview]:
        return {value: self.subviews[n] for value, n in self.argument_of.items()}

    def _epilogue(self) -> Iterator[Stage]:
        """The operations after the anchor, without the split into bf16 numbers."""
        value: SSAValue = self.anchor.op.results[0]
        for after in self.views[self.views.index(self.anchor) + 1 :]:
            if not after.bf16_split:
                yield self._stage(after, self._renamed(after), value)
                value = after.op.results[0]

    def _store(self, bf16_split: Bf16Split | None) -> Access:
        """The store of the value: to the operand that the anchor accumulates on, if there is one,
        or else to the first result.
        """
        if bf16_split is not None and bf16_split.alone:
            return bf16_split.store
        first_result = len(self.function.body.block.args)
        argument = self.argument_of.get(outs_of(self.anchor.op), first_result)
        return self._access(argument, self.anchor.write.index, self._identity)

    def padding_lanes(self, kernel: Kernel, target: Target) -> list[tuple[int, int, int]]:
        """The padding lanes that short vectors leave out, in the last block of a sum of float32."""
        types = {self.element_types[a.argument] for stage in kernel.stages for a in stage.reads}
        floats = types <= {f16, i24, f32} and self.element_types[kernel.store.argument] == f32
        if kernel.matrices is not None or kernel.bf16_split is not None or not floats:
            return []
        subviews = self._subview_of
        found = set(padding_lanes(self.anchor, subviews, self._identity))
        started = outs_of(self.anchor.op).owner
        if isinstance(started, GenericOp):
            initial = LinalgOp(started)
            found |= set(padding_lanes(initial, subviews, self._renamed(initial)))
        factors = product_of(kernel) or ()

        def shortest(lane: int) -> int:
            spread = any(a.coefficients[lane] == 0 for a in factors)
            return target.shortest_factor if spread else target.shortest

        return sorted(
            (outer, inner, true)
            for outer, inner, true in found
            if -true % kernel.extents[inner] >= shortest(inner)
            and kernel.extents[outer] <= target.costs.schedules.most_short_blocks
        )

    @cached_property
    def gathers(self) -> dict[SSAValue, LinalgOp]:
        """Gathers that the anchor reads in place: they have no memory."""
        before = self.views[: self.views.index(self.anchor)]
        return {
            linalg_op.op.results[0]: linalg_op
            for linalg_op in before
            if linalg_op.lanes is not None
        }

    @cached_property
    def anchor(self) -> LinalgOp:
        """The reduction of the group, or its first pointwise operation."""
        return next((linalg_op for linalg_op in self.views if linalg_op.reads_outs), self.views[0])

    def _bf16_split(self, linalg_op: LinalgOp) -> Bf16Split:
        """The store as bf16 numbers. Memory has the axes (pair of blocks, image .., part, block of
        the pair, lane), or groups of these. So the distance of two blocks is half that of two
        pairs.
        """
        position = len(self.function.body.block.args) + len(self.results) - 1
        source, pairs = linalg_op.bf16_source
        *outer, half, side, lane = self.subviews[position].strides
        outer[pairs] //= 2

        def moved(argument: int, strides: Sequence[int]) -> Access:
            by = {_known(axis): stride for axis, stride in zip(self._axes, strides, strict=True)}
            return Access(argument, 0, tuple(by.get(d, 0) for d in range(self.rank)))

        inputs: list[Access | None] = []
        for access in linalg_op.reads:
            if access == source:
                inputs.append(None)
                continue
            number = self.argument_of[access.value]  # a table of channels: (pair, block, lane)
            _, block, within = self.subviews[number].strides
            by_block = [block * (axis == pairs) for axis in range(len(outer))]
            inputs.append(moved(number, (*by_block, within)))
        return Bf16Split(
            Stage(linalg_op.body, tuple(inputs)),
            moved(position, (*outer, lane)),
            half,
            _known(self._axes[pairs]),
            outer[pairs] - side,
            alone=len(self.results) == 1,
        )

    def _initial(self) -> float | Stage | None:
        """The initial value of a sum; None if it is in memory."""
        source = outs_of(self.anchor.op)
        if source in self.argument_of:
            return None
        op = source.owner
        if isinstance(op, FillOp):
            return fill_number(op)
        if not isinstance(op, GenericOp):
            raise CompilerBug("an accumulation without initial values")
        init = LinalgOp(op)
        return self._stage(init, self._renamed(init), None)

    @cached_property
    def _axes(self) -> list[int | None]:
        """The loops of the anchor along the axes of its result."""
        return [form.bare for form in self.anchor.write.index]

    @cached_property
    def _identity(self) -> dict[int, int]:
        return {d: d for d in range(self.rank)}

    def _renamed(self, linalg_op: LinalgOp) -> dict[int, int]:
        """The loops of initial values or of an epilogue, as loops of the anchor, axis by axis."""
        return {
            _known(form.bare): _known(axis)
            for form, axis in zip(linalg_op.write.index, self._axes, strict=True)
        }

    def _stage(
        self, linalg_op: LinalgOp, loops: Mapping[int, int], flight: SSAValue | None
    ) -> Stage:
        """An operation with its reads; `flight` is the value so far."""
        inputs: list[Access | None] = []
        for position, access in enumerate(linalg_op.reads):
            if access.value is flight or position not in linalg_op.live:
                inputs.append(None)
            elif (gather := self.gathers.get(access.value)) is not None:
                inputs.append(self._selected(gather, access.index, loops))
            else:
                argument = self.argument_of[access.value]
                inputs.append(self._access(argument, access.index, loops))
        return Stage(linalg_op.body, tuple(inputs))

    def _selected(
        self, gather: LinalgOp, index: Sequence[AffineForm], loops: Mapping[int, int]
    ) -> Access:
        """A read through a gather of elements in a row: its address depends on loops and on the
        table of the gather.
        """
        (source,), (table,) = gather.captured, gather.reads
        axis_of = {_known(form.bare): axis for axis, form in enumerate(gather.write.index)}
        strides = [0] * len(index)
        for value, factor in _terms(_place_of(gather.yielded)):
            if isinstance(value.owner, IndexOp):
                strides[axis_of[value.owner.dim.value.data]] += factor
        extents = shape_of(gather.op.results[0])
        reach = sum((n - 1) * stride for n, stride in zip(extents, strides, strict=True))
        said = [index[axis_of[_known(form.bare)]] for form in table.index]
        told = self._access(self.argument_of[table.value], said, loops)
        broadcast = self._strided(self.argument_of[source], index, strides, loops)
        return replace(broadcast, table=GatherTable(told, shape_of(source)[0] - 1 - reach))

    def _access(
        self, argument: int, index: Sequence[AffineForm], loops: Mapping[int, int]
    ) -> Access:
        """Coordinates of an argument as an address, by the strides of its subview."""
        return self._strided(argument, index, self.subviews[argument].strides, loops)

    def _strided(
        self,
        argument: int,
        index: Sequence[AffineForm],
        strides: Sequence[int],
        loops: Mapping[int, int],
    ) -> Access:
        coefficients: dict[int, int] = {}
        offset = 0
        for form, stride in zip(index, strides, strict=True):
            offset += form.constant * stride
            for loop, factor in form.terms:
                d = loops[loop]
                coefficients[d] = coefficients.get(d, 0) + factor * stride
        return Access(argument, offset, tuple(coefficients.get(d, 0) for d in range(self.rank)))

    @cached_property
    def rank(self) -> int:
        """How many loops there are."""
        return len(self.anchor.extents)

    def _captured(self, linalg_op: LinalgOp) -> dict[SSAValue, Captured]:
        found: dict[SSAValue, Captured] = {}
        for value in linalg_op.captured:
            argument = self.argument_of[value]
            found[value] = Captured(argument, self.subviews[argument].strides)
        return found

    def _fill(self) -> Kernel:
        """A kernel that only sets a tensor to one value."""
        fill = self.fills[-1]
        kind = fill.results[0].type
        if not isinstance(kind, TensorType):
            raise CompilerBug("a fill of no tensor")
        subview = self.subviews[-1]
        argument = len(self.subviews) - 1
        store = Access(argument, 0, subview.strides)
        return constant_kernel(extents_of(kind), fill_number(fill), store, self.element_types)


def constant_kernel(
    extents: Sequence[int], value: float, store: Access, element_types: tuple[Attribute, ...]
) -> Kernel:
    """out[...] = value over a box of `extents`, with all loops."""
    body = Block()
    element = element_types[store.argument]
    constant = arith.ConstantOp.create(
        properties={"value": number(value, element)}, result_types=[element]
    )
    body.add_ops([constant, YieldOp.create(operands=[constant.results[0]])])
    return Kernel(
        extents=tuple(extents),
        reduced=frozenset(),
        valid_extents=(),
        anchor=Stage(body, ()),
        accumulates=False,
        initial=0.0,
        epilogue=(),
        store=store,
        element_types=element_types,
        captured={},
        index_of={},
    )


def _place_of(value: SSAValue) -> SSAValue:
    """The coordinate of an element that is read in a row."""
    if not isinstance(value.owner, ExtractOp):
        raise CompilerBug("a selection that computes")
    return value.owner.indices[0]


def _terms(value: SSAValue, factor: int = 1) -> Iterator[tuple[SSAValue, int]]:
    """The terms of a sum of indices, with their factors."""
    match value.owner:
        case arith.AddiOp() as op:
            yield from _terms(op.lhs, factor)
            yield from _terms(op.rhs, factor)
        case arith.MuliOp() as op if (number := constant_number(op.rhs)) is not None:
            yield from _terms(op.lhs, factor * int(number))
        case _:
            yield value, factor


def _known(loop: int | None) -> int:
    if loop is None:
        raise CompilerBug("a strided result that a sum goes on with")
    return loop
