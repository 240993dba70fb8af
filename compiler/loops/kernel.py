"""A kernel before it is loops: its computations as linear addresses over one set of loops.

Every access of a group becomes `argument[offset + the sum of coefficient * loop]`: layouts, pads,
slices and reshapes are only other coefficients here. Two calls whose kernels have the same
signature share one function, whatever their layers are called.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import Linear, Matrix, View, constant_number
from ncc.compiler.loops.stable_text import stable_text
from ncc.compiler.plan import Call
from ncc.dialects.element import number

LONG = 4096
"""Steps of a loop that are worth sharing among threads."""

SHARES = 16
"""How many parts they are cut into, or about."""

WHOLE_VECTORS = 32
"""Steps that make whole vectors on every target, and whole cache lines."""


@dataclass(frozen=True)
class Access:
    """`argument[offset + sum(coefficients[d] * loop d)]`, counted in elements."""

    argument: int
    offset: int
    coefficients: tuple[int, ...]

    def with_coefficients(self, coefficients: Sequence[int]) -> Access:
        return replace(self, coefficients=tuple(coefficients))


@dataclass(frozen=True)
class Stage:
    """A body and what its block arguments are: an access, or None for the value in flight."""

    body: Block
    inputs: tuple[Access | None, ...]

    @property
    def yielded(self) -> SSAValue:
        last = self.body.last_op
        if last is None:
            raise CompilerBug("a computation without a result")
        return last.operands[0]


@dataclass(frozen=True)
class Captured:
    """A tensor read at computed coordinates: its argument and the stride of each axis."""

    argument: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """One group on the places of one call.

    `initial` is a number, a computation at the stored point, or None: the accumulation goes on
    with what the memory at `store` holds. `matrix` makes the anchor a separable transform: it sums
    matrix[a][k] * matrix[b][l] * data over k and l, and its first two inputs read the matrix.
    """

    extents: tuple[int, ...]
    reduced: frozenset[int]
    tails: tuple[tuple[int, int, int], ...]
    anchor: Stage
    accumulates: bool
    initial: float | Stage | None
    epilogue: tuple[Stage, ...]
    store: Access
    element_types: tuple[Attribute, ...]
    captured: Mapping[SSAValue, Captured]
    index_of: Mapping[int, int | None]
    matrix: Matrix | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        first = (self.initial,) if isinstance(self.initial, Stage) else ()
        return (*first, self.anchor, *self.epilogue)

    @property
    def parallel(self) -> list[int]:
        return [d for d in range(len(self.extents)) if d not in self.reduced]

    def accesses(self) -> list[Access]:
        """Every access, the store last."""
        reads = [a for stage in self.stages for a in stage.inputs if a is not None]
        return [*reads, self.store]

    def signature(self) -> Hashable:
        """Equal for kernels that compile to the same code; layer names stay out."""
        captured = {value: (c.argument, c.strides) for value, c in self.captured.items()}
        initial = (
            ("stage", _stage_key(self.initial, captured))
            if isinstance(self.initial, Stage)
            else ("value", self.initial)
        )
        return (
            self.extents,
            self.reduced,
            self.tails,
            self.accumulates,
            initial,
            _stage_key(self.anchor, captured),
            tuple(_stage_key(stage, captured) for stage in self.epilogue),
            self.store,
            self.element_types,
            tuple(sorted(self.index_of.items())),
            self.matrix,
        )

    @cached_property
    def signature_text(self) -> str:
        """Its signature as the key of its code."""
        return stable_text(self.signature())


def _stage_key(stage: Stage, captured: Mapping[SSAValue, Hashable]) -> Hashable:
    numbers: dict[SSAValue, Hashable] = {
        argument: ("arg", i) for i, argument in enumerate(stage.body.args)
    }
    lines: list[Hashable] = []
    for op in stage.body.ops:
        operands = tuple(
            numbers[o] if o in numbers else captured.get(o, "outside") for o in op.operands
        )
        properties = tuple(sorted((k, v) for k, v in op.properties.items() if k != "fastmath"))
        types = tuple(result.type for result in op.results)
        lines.append((op.name, operands, _Properties(properties), types))
        for result in op.results:
            numbers[result] = len(numbers)
    return (tuple(lines), stage.inputs)


@dataclass(frozen=True)
class _Properties:
    items: tuple[tuple[str, Attribute], ...]


def kernel_of(call: Call) -> Kernel:
    """The kernel of a call: views and places put together, loops normalised.

    The loops of a separable transform stay as they are: its writer knows them by their inputs.
    """
    kernel = _Reader(call).read()
    return kernel if kernel.matrix is not None else _normalised(kernel)


class _Reader:
    """Reads an outlined function with the strides of one call."""

    def __init__(self, call: Call) -> None:
        self.places = [*call.operands, *call.results]
        self.function = call.function
        block = call.function.body.block
        returned = block.last_op
        if not isinstance(returned, func.ReturnOp):
            raise CompilerBug("a kernel without a return")
        self.result = returned.operands[0]
        self.argument_of: dict[SSAValue, int] = {a: a.index for a in block.args}
        self.views = [View(op) for op in block.ops if isinstance(op, GenericOp)]
        self.fills = [op for op in block.ops if isinstance(op, FillOp)]
        types = [*(a.type for a in block.args), *(v.type for v in returned.operands)]
        self.element_types = tuple(t.element_type for t in types if isinstance(t, TensorType))

    def read(self) -> Kernel:
        if not self.views:
            return self._fill()
        view = self.anchor
        axes = [form.bare for form in view.write.index]
        identity = {d: d for d in range(len(view.extents))}
        epilogue: list[Stage] = []
        captured: dict[SSAValue, Captured] = self._captured(view)
        value: SSAValue = view.op.results[0]
        for after in self.views[self.views.index(view) + 1 :]:
            epilogue.append(self._stage(after, self._renamed(after, axes), value))
            value = after.op.results[0]
        store_argument = len(self.function.body.block.args)
        if view.op.outputs[0] in self.argument_of:
            store_argument = self.argument_of[view.op.outputs[0]]
        return Kernel(
            extents=view.extents,
            reduced=frozenset(view.reduced),
            tails=view.tails,
            anchor=self._stage(view, identity, None),
            accumulates=view.reads_outs,
            initial=self._initial(view, axes) if view.reads_outs else 0.0,
            epilogue=tuple(epilogue),
            store=self._access(store_argument, view.write.index, identity),
            element_types=self.element_types,
            captured=captured,
            index_of={d: d for d in view.indexed},
            matrix=view.separable,
        )

    @cached_property
    def anchor(self) -> View:
        """The reduction of the group, or its first pointwise computation."""
        return next((view for view in self.views if view.reads_outs), self.views[0])

    def _initial(self, view: View, axes: Sequence[int | None]) -> float | Stage | None:
        source = view.op.outputs[0]
        if source in self.argument_of:
            return None
        op = source.owner
        if isinstance(op, FillOp):
            return _fill_value(op)
        if not isinstance(op, GenericOp):
            raise CompilerBug("an accumulation without initial values")
        init = View(op)
        return self._stage(init, self._renamed(init, axes), None)

    def _renamed(self, view: View, axes: Sequence[int | None]) -> dict[int, int]:
        """The loops of initial values or an epilogue as those of the anchor, axis by axis."""
        return {
            _known(form.bare): _known(axis)
            for form, axis in zip(view.write.index, axes, strict=True)
        }

    def _stage(self, view: View, loops: Mapping[int, int], flight: SSAValue | None) -> Stage:
        inputs: list[Access | None] = []
        for position, access in enumerate(view.reads):
            if access.value is flight or position not in view.live:
                inputs.append(None)
            else:
                argument = self.argument_of[access.value]
                inputs.append(self._access(argument, access.index, loops))
        return Stage(view.body, tuple(inputs))

    def _access(self, argument: int, index: Sequence[Linear], loops: Mapping[int, int]) -> Access:
        place = self.places[argument]
        coefficients: dict[int, int] = {}
        offset = 0
        for form, stride in zip(index, place.strides, strict=True):
            offset += form.constant * stride
            for loop, factor in form.terms:
                d = loops[loop]
                coefficients[d] = coefficients.get(d, 0) + factor * stride
        return Access(argument, offset, tuple(coefficients.get(d, 0) for d in range(self.rank)))

    @cached_property
    def rank(self) -> int:
        return len(self.anchor.extents)

    def _captured(self, view: View) -> dict[SSAValue, Captured]:
        found: dict[SSAValue, Captured] = {}
        for value in view.captured:
            argument = self.argument_of[value]
            found[value] = Captured(argument, self.places[argument].strides)
        return found

    def _fill(self) -> Kernel:
        """A kernel that only sets a tensor to one value."""
        fill = self.fills[-1]
        kind = fill.results[0].type
        if not isinstance(kind, TensorType):
            raise CompilerBug("a fill of no tensor")
        place = self.places[-1]
        argument = len(self.places) - 1
        store = Access(argument, 0, place.strides)
        return constant_kernel(kind.get_shape(), _fill_value(fill), store, self.element_types)


def constant_kernel(
    extents: Sequence[int], value: float, store: Access, element_types: tuple[Attribute, ...]
) -> Kernel:
    """out[...] = value over a box of `extents`."""
    body = Block()
    element = element_types[store.argument]
    constant = arith.ConstantOp.create(
        properties={"value": number(value, element)}, result_types=[element]
    )
    body.add_ops([constant, YieldOp.create(operands=[constant.results[0]])])
    kernel = Kernel(
        extents=tuple(extents),
        reduced=frozenset(),
        tails=(),
        anchor=Stage(body, ()),
        accumulates=False,
        initial=0.0,
        epilogue=(),
        store=store,
        element_types=element_types,
        captured={},
        index_of={},
    )
    return _normalised(kernel)


def _fill_value(op: FillOp) -> float:
    """The constant that a tensor is filled with."""
    found = constant_number(op.inputs[0])
    if found is None:
        raise CompilerBug("a fill whose value is no constant")
    return found


def _known(loop: int | None) -> int:
    if loop is None:
        raise CompilerBug("a result at strided places cannot be continued at the point")
    return loop


# --- normal form ------------------------------------------------------------------------------


def _normalised(kernel: Kernel) -> Kernel:
    """Drop loops of extent 1 and join neighbours that walk every access as one loop would."""
    kept = [d for d, extent in enumerate(kernel.extents) if extent != 1]
    only_block = {inner: true for outer, inner, true in kernel.tails if kernel.extents[outer] == 1}
    kernel = _select(kernel, kept, only_block)
    while (pair := _joinable(kernel)) is not None:
        outer, inner = pair
        kept = [d for d in range(len(kernel.extents)) if d != outer]
        kernel = _select(kernel, kept, {inner: kernel.extents[outer] * kernel.extents[inner]})
    return _shared_out(kernel)


def _shared_out(kernel: Kernel) -> Kernel:
    """Where one long parallel loop is all there is: two, the outer one for threads to share."""
    if len(kernel.parallel) != 1:
        return kernel
    (loop,) = kernel.parallel
    extent, shares = kernel.extents[loop], range(2 * SHARES, SHARES // 4, -1)
    fixed = {*kernel.index_of.values(), *(d for tail in kernel.tails for d in tail[:2])}
    even = [n for n in shares if extent % (n * WHOLE_VECTORS) == 0]
    if extent < LONG or not even or loop in fixed:
        return kernel
    parts = min(even, key=lambda n: (n % 2, abs(n - SHARES)))

    def access(a: Access | None) -> Access | None:
        step = 0 if a is None else a.coefficients[loop] * (extent // parts)
        return None if a is None else a.with_coefficients([*a.coefficients, step])

    extents = [*kernel.extents, parts]
    extents[loop] = extent // parts
    return _with_accesses(replace(kernel, extents=tuple(extents)), access)


def _joinable(kernel: Kernel) -> tuple[int, int] | None:
    accesses = kernel.accesses()
    fixed = {d for d in kernel.index_of.values() if d is not None}
    fixed |= {d for outer, inner, _ in kernel.tails for d in (outer, inner)}
    loops = [d for d in range(len(kernel.extents)) if d not in fixed]
    for outer in loops:
        for inner in loops:
            if outer == inner or (outer in kernel.reduced) != (inner in kernel.reduced):
                continue
            extent = kernel.extents[inner]
            if all(a.coefficients[outer] == extent * a.coefficients[inner] for a in accesses):
                return outer, inner
    return None


def _select(kernel: Kernel, kept: Sequence[int], extents: Mapping[int, int]) -> Kernel:
    """The kernel on the loops `kept`, some with a new extent."""
    number = {d: i for i, d in enumerate(kept)}

    def access(a: Access | None) -> Access | None:
        return None if a is None else a.with_coefficients([a.coefficients[d] for d in kept])

    return replace(
        _with_accesses(kernel, access),
        extents=tuple(extents.get(d, kernel.extents[d]) for d in kept),
        reduced=frozenset(number[d] for d in kernel.reduced if d in number),
        tails=tuple(
            (number[outer], number[inner], true)
            for outer, inner, true in kernel.tails
            if outer in number and inner in number
        ),
        index_of={k: None if d is None else number.get(d) for k, d in kernel.index_of.items()},
    )


def _with_accesses(kernel: Kernel, access: Callable[[Access | None], Access | None]) -> Kernel:
    """The kernel with every access changed."""

    def stage(s: Stage) -> Stage:
        return Stage(s.body, tuple(access(a) for a in s.inputs))

    store = access(kernel.store)
    if store is None:
        raise CompilerBug("a kernel without a store")
    return replace(
        kernel,
        anchor=stage(kernel.anchor),
        initial=stage(kernel.initial) if isinstance(kernel.initial, Stage) else kernel.initial,
        epilogue=tuple(stage(s) for s in kernel.epilogue),
        store=store,
    )


def varying(stage: Stage, lane: int, kernel: Kernel, flight_varies: bool) -> set[SSAValue]:
    """The values of a body that differ from lane to lane."""
    values: set[SSAValue] = set()
    for argument, access in zip(stage.body.args, stage.inputs, strict=False):
        if access is not None and access.coefficients[lane]:
            values.add(argument)
        elif access is None and flight_varies:
            values.add(argument)
    if len(stage.body.args) > len(stage.inputs) and flight_varies:
        values.add(stage.body.args[-1])
    for op in stage.body.ops:
        by_index = isinstance(op, IndexOp) and kernel.index_of[op.dim.value.data] == lane
        if by_index or any(operand in values for operand in op.operands):
            values.update(op.results)
    return values


def extracts(stage: Stage) -> list[ExtractOp]:
    """The reads at computed coordinates of a body."""
    return [op for op in stage.body.ops if isinstance(op, ExtractOp)]


def is_argument(value: SSAValue, body: Block) -> int | None:
    """The position of a block argument of the body; None for anything else."""
    if isinstance(value, BlockArgument) and value.owner is body:
        return value.index
    return None


def can_be_lane(kernel: Kernel, lane: int) -> bool:
    """Whether a parallel loop's neighbours can share a vector: contiguous or uniform accesses."""
    if kernel.store.coefficients[lane] != 1:
        return False
    if any(a.coefficients[lane] not in (0, 1) for a in kernel.accesses()):
        return False
    return all(_extracts_allow(kernel, lane, i) for i in range(len(kernel.stages)))


def _extracts_allow(kernel: Kernel, lane: int, position: int) -> bool:
    """Computed coordinates may vary along the lane only as the last index by itself."""
    stage = kernel.stages[position]
    values = varying(stage, lane, kernel, flight_varies=True)
    for op in stage.body.ops:
        if isinstance(op, IndexOp) and op.results[0] in values:
            if any(not isinstance(use.operation, ExtractOp) for use in op.results[0].uses):
                return False
    for op in extracts(stage):
        moving = [i for i, at in enumerate(op.indices) if at in values]
        if not moving:
            continue
        last = op.indices[-1]
        alone = (
            moving == [len(op.indices) - 1] and getattr(last.owner, "name", "") == "linalg.index"
        )
        if not alone or kernel.captured[op.tensor].strides[-1] != 1:
            return False
    return True
