"""A kernel before it is loops: its computations as linear addresses over one set of loops.

Every access of a group becomes `argument[offset + the sum of coefficient * loop]`: layouts, pads,
slices and reshapes are only other coefficients here. Two calls whose kernels have the same
signature share one function, whatever their layers are called.

Kernels are addresses, not memrefs of many axes: so loops that walk all accesses as one loop would
can be collapsed, and two layers share code when these numbers agree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import Matrix
from ncc.compiler.loops.kernel.stable_text import stable_text
from ncc.dialects.operation import operands_of, ops_of

LINE = 16
"""Elements of a cache line."""


@dataclass(frozen=True)
class Access:
    """`argument[offset + sum(coefficients[d] * loop d) + n]`, counted in elements.

    n is a number of a table, if there is one, else 0.
    """

    argument: int
    offset: int
    coefficients: tuple[int, ...]
    table: GatherTable | None = None

    @cached_property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """The loops that it moves with, and how far a step."""
        return tuple((loop, by) for loop, by in enumerate(self.coefficients) if by)

    @property
    def table_reach(self) -> int:
        """How many elements further than its loops the numbers of its table lead, at most."""
        return 0 if self.table is None else self.table.most

    @property
    def table_loops(self) -> list[int]:
        """The loops that choose the number of its table."""
        return [] if self.table is None else [loop for loop, _ in self.table.at.moves]

    def with_loops(self, change: Callable[[Sequence[int]], Sequence[int]]) -> Access:
        """The same among other loops; `change` makes coefficients for these of those for ours."""
        table = self.table
        if table is not None:
            table = replace(table, at=table.at.with_loops(change))
        return Access(self.argument, self.offset, tuple(change(self.coefficients)), table)


Reason: TypeAlias = str
"""Which condition a kernel does not meet, as a sentence about it: "its operands are not bytes"."""

NO_SUM, GATHERS, PADDED = (
    "it sums nothing",
    "it reads at computed coordinates",
    "some of its channels are padding",
)
"""Reasons that several conditions have."""


@dataclass(frozen=True)
class GatherTable:
    """Numbers from 0 to `most`, of which an access adds the one at `at` to its address."""

    at: Access
    most: int


@dataclass(frozen=True)
class Stage:
    """A body and what its block arguments are: an access, or None for the value in flight."""

    body: Block
    inputs: tuple[Access | None, ...]

    @property
    def reads(self) -> list[Access]:
        """Its accesses."""
        return [access for access in self.inputs if access is not None]

    @property
    def extracts(self) -> list[ExtractOp]:
        """The reads at computed coordinates of its body."""
        return [op for op in ops_of(self.body) if isinstance(op, ExtractOp)]

    @property
    def yielded(self) -> SSAValue:
        last = self.body.last_op
        if last is None:
            raise CompilerBug("a computation without a result")
        return operands_of(last)[0]


@dataclass(frozen=True)
class Captured:
    """A tensor read at computed coordinates: its argument and the stride of each axis."""

    argument: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Bf16Split:
    """The value at a point in two halves, besides the value or in its place.

    stage       what computes a half, by its number
    store       where the first one goes; the second lies `distance` elements behind it
    pairs       a loop of which an odd step is stored `back` elements in front of where `store`
                says: its steps lie two by two
    alone       whether the value itself is not stored
    """

    stage: Stage
    store: Access
    distance: int
    pairs: int
    back: int
    alone: bool

    @property
    def beside(self) -> int:
        """How far behind an even step its odd one lies; zeros if the loop ends before it."""
        return self.store.coefficients[self.pairs] - self.back


@dataclass(frozen=True)
class KSplit:
    """The last block of outputs in memory where so many rows of weights are one (`Folded`).

    outputs  the loop over blocks of outputs
    inputs   the loop over the inputs of a block: at the last step of `outputs`, `times` of them are
             multiplied at once, each with its own lanes
    """

    outputs: int
    inputs: int
    times: int


@dataclass(frozen=True)
class Kernel:
    """One group on the places of one call.

    `initial` is a number, a computation at the stored point, or None: the accumulation goes on
    with what the memory at `store` holds. `store` is that of `halving` where it is alone.
    `matrices` m and n make the anchor a separable transform: it sums m[a][k] * n[b][l] * data over
    k and l, and its first two inputs read them. What else it reads, it multiplies with that.
    `lanes` makes it a selection of lanes among all those of the blocks that it captures.
    `tails` are those of a `View`: of reduced loops, and of results that nobody reads.
    """

    extents: tuple[int, ...]
    reduced: frozenset[int]
    valid_extents: tuple[tuple[int, int, int], ...]
    anchor: Stage
    accumulates: bool
    initial: float | Stage | None
    epilogue: tuple[Stage, ...]
    store: Access
    element_types: tuple[Attribute, ...]
    captured: Mapping[SSAValue, Captured]
    index_of: Mapping[int, int | None]
    matrices: tuple[Matrix, Matrix] | None = None
    bf16_split: Bf16Split | None = None
    lanes: tuple[int, ...] | None = None
    k_split: KSplit | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        first = (self.initial,) if isinstance(self.initial, Stage) else ()
        last = () if self.bf16_split is None else (self.bf16_split.stage,)
        return (*first, self.anchor, *self.epilogue, *last)

    @property
    def unpaired(self) -> int | None:
        """The loop over blocks whose halves are stored, where the last has no other to be a pair
        with.
        """
        held = self.bf16_split
        return held.pairs if held is not None and self.extents[held.pairs] % 2 else None

    @property
    def forms_weights(self) -> bool:
        """Whether it multiplies something with what it transforms, which is weights then."""
        return self.matrices is not None and len(self.anchor.inputs) > 3

    @property
    def parallel(self) -> list[int]:
        return [d for d in range(len(self.extents)) if d not in self.reduced]

    @cached_property
    def indexed(self) -> frozenset[int]:
        """The loops whose numbers a body asks for."""
        return frozenset(d for d in self.index_of.values() if d is not None)

    @cached_property
    def clipped(self) -> frozenset[int]:
        """The loops that tails are of."""
        return frozenset(d for outer, inner, _ in self.valid_extents for d in (outer, inner))

    def accesses(self) -> list[Access]:
        """Every access, those of tables too; those that store last."""
        reads = [access for stage in self.stages for access in stage.reads]
        tables = [access.table.at for access in reads if access.table is not None]
        return [*tables, *reads, *self.stores()]

    def stores(self) -> list[Access]:
        """What is written: of halves, the first."""
        if self.bf16_split is None:
            return [self.store]
        return (
            [self.bf16_split.store]
            if self.bf16_split.alone
            else [self.store, self.bf16_split.store]
        )

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
            self.valid_extents,
            self.accumulates,
            initial,
            _stage_key(self.anchor, captured),
            tuple(_stage_key(stage, captured) for stage in self.epilogue),
            self.store,
            self.element_types,
            tuple(sorted(self.index_of.items())),
            self.matrices,
            self._bf16_split_key(captured),
            self.lanes,
            self.k_split and (self.k_split.outputs, self.k_split.inputs, self.k_split.times),
        )

    @cached_property
    def signature_text(self) -> str:
        """Its signature as the key of its code."""
        return stable_text(self.signature())

    def _bf16_split_key(self, captured: Mapping[SSAValue, Hashable]) -> Hashable:
        held = self.bf16_split
        if held is None:
            return None
        key = _stage_key(held.stage, captured)
        return (key, held.store, held.distance, held.pairs, held.back, held.alone)


def _stage_key(stage: Stage, captured: Mapping[SSAValue, Hashable]) -> Hashable:
    numbers: dict[SSAValue, Hashable] = {
        argument: ("arg", i) for i, argument in enumerate(stage.body.args)
    }
    lines: list[Hashable] = []
    for op in ops_of(stage.body):
        operands = tuple(numbers[o] if o in numbers else captured[o] for o in op.operands)
        properties = tuple(sorted((k, v) for k, v in op.properties.items() if k != "fastmath"))
        types = tuple(result.type for result in op.results)
        lines.append((op.name, operands, _Properties(properties), types))
        for result in op.results:
            numbers[result] = len(numbers)
    return (tuple(lines), stage.inputs)


@dataclass(frozen=True)
class _Properties:
    items: tuple[tuple[str, Attribute], ...]


def is_argument(value: SSAValue, body: Block) -> int | None:
    """The position of a block argument of the body; None for anything else."""
    if isinstance(value, BlockArgument) and value.owner is body:
        return value.index
    return None
