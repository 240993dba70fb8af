"""A kernel: the operations of a group as linear addresses over one set of loops.

Every access of a group becomes `argument[offset + the sum of coefficient * loop]`. Layouts, pads,
slices and reshapes only change coefficients. Two calls whose kernels have the same signature share
one function, whatever their layers are called.

Kernels have addresses, not memrefs of many axes. So two loops that walk all accesses like one loop
can be collapsed, and two layers share code if their coefficients are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import Matrix
from ncc.compiler.loops.kernel.stable_text import body_text, stable_text
from ncc.dialects.operation import operands_of, ops_of
from ncc.dialects.rt import SizeOp
from ncc.dialects.size import is_open

LINE = 16
"""Elements of a cache line."""

SHORT = 12
"""For costs, a loop whose extent the run tells is as long as the hint says, but not shorter than
this: the hint may be a tiny image.
"""


@dataclass(frozen=True)
class Gap:
    """The rows of a loop lie apart: behind every `length` iterations of it are `elements` more."""

    loop: int
    length: int
    elements: int


@dataclass(frozen=True)
class Access:
    """`argument[offset + sum(coefficients[d] * loop d) + n]`, counted in elements.

    n is a number of a table, if there is one, and what the gaps between rows add.
    """

    argument: int
    offset: int
    coefficients: tuple[int, ...]
    table: GatherTable | None = None
    gap: Gap | None = None

    @cached_property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """The loops that it moves with, and by how many elements."""
        return tuple((loop, by) for loop, by in enumerate(self.coefficients) if by != 0)

    @property
    def table_reach(self) -> int:
        """The largest number of its table."""
        return 0 if self.table is None else self.table.most

    @property
    def table_loops(self) -> list[int]:
        """The loops that index its table."""
        return [] if self.table is None else [loop for loop, _ in self.table.at.moves]

    def with_loops(self, change: Callable[[Sequence[int]], Sequence[int]]) -> Access:
        """The same access over other loops; `change` converts the coefficients."""
        table, gap = self.table, self.gap
        if table is not None:
            table = replace(table, at=table.at.with_loops(change))
        if gap is not None:
            alone = [int(loop == gap.loop) for loop in range(len(self.coefficients))]
            gap = replace(gap, loop=list(change(alone)).index(1))
        return Access(self.argument, self.offset, tuple(change(self.coefficients)), table, gap)


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
    """A table of numbers from 0 to `most`; an access adds the number at `at` to its address."""

    at: Access
    most: int


@dataclass(frozen=True)
class Stage:
    """A body and its block arguments: an access, or None for the value so far."""

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
            raise CompilerBug("a stage without a result")
        return operands_of(last)[0]


@dataclass(frozen=True)
class Captured:
    """A tensor read at computed coordinates: its argument and the stride of each axis."""

    argument: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Bf16Split:
    """The store of a value as two bf16 numbers, its parts, besides the value or in its place.

    stage       the operations of a part, by its number
    store       the address of the first part; the second is `distance` elements behind it
    pairs       the loop over blocks: two blocks fill a line, and an odd one is stored `back`
                elements in front of the address that `store` gives
    alone       whether the value itself is not stored
    """

    stage: Stage
    store: Access
    distance: int
    pairs: int
    back: int
    alone: bool

    @property
    def to_odd(self) -> int:
        """The distance from an even block to the odd one of its line, which may be zeros."""
        return self.store.coefficients[self.pairs] - self.back


@dataclass(frozen=True)
class KSplit:
    """Weights whose last block of outputs has several rows in one (`Folded`).

    outputs  the loop over blocks of outputs
    inputs   the loop over the inputs of a block: at the last iteration of `outputs`, `times` of
             them are multiplied at once, each in its own lanes
    """

    outputs: int
    inputs: int
    times: int


@dataclass(frozen=True)
class Kernel:
    """One group with the subviews of one call.

    `initial` is a number, a stage at the stored point, or None: then the sum goes on with the
    values in memory at `store`. `store` is that of `bf16_split` if only its parts are stored.
    `matrices` m and n make the anchor a separable transform: it sums m[a][k] * n[b][l] * data over
    k and l, and its first two inputs read them. It multiplies the transform with its other inputs.
    `lanes` makes it a gather of channels among those of the blocks that it captures.
    `valid_extents` are (outer, inner, elements): elements of both loops beyond these are padding.
    `body_sizes` are the numbers that the `rt.size` of its bodies name, in order. `about` has loops
    whose extents the run tells, and their hints, while a schedule is chosen.
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
    body_sizes: tuple[int, ...] = ()
    about: tuple[tuple[int, int], ...] = ()

    @property
    def stages(self) -> tuple[Stage, ...]:
        first = (self.initial,) if isinstance(self.initial, Stage) else ()
        last = () if self.bf16_split is None else (self.bf16_split.stage,)
        return (*first, self.anchor, *self.epilogue, *last)

    @cached_property
    def is_open(self) -> bool:
        """Whether the run tells it some numbers."""
        bf16_split = self.bf16_split
        distances = () if bf16_split is None else (bf16_split.distance, bf16_split.back)
        return is_open(
            *self.extents,
            *self.body_sizes,
            *distances,
            *(elements for _, _, elements in self.valid_extents),
            *(n for a in self.accesses() for n in (a.offset, *a.coefficients, a.table_reach)),
            *(stride for held in self.captured.values() for stride in held.strides),
        )

    @property
    def unpaired(self) -> int | None:
        """The loop over blocks that are stored as bf16 numbers, if the last one is alone in its
        line.
        """
        held = self.bf16_split
        return held.pairs if held is not None and self.extents[held.pairs] % 2 else None

    @property
    def forms_weights(self) -> bool:
        """Whether it multiplies its transform, of weights then, with other data."""
        return self.matrices is not None and len(self.anchor.inputs) > 3

    @cached_property
    def likely(self) -> tuple[int, ...]:
        """The extents that costs are compared for."""
        about = dict(self.about)
        return tuple(max(about.get(d, n), SHORT * (d in about)) for d, n in enumerate(self.extents))

    @property
    def parallel(self) -> list[int]:
        return [d for d in range(len(self.extents)) if d not in self.reduced]

    @cached_property
    def indexed(self) -> frozenset[int]:
        """The loops whose indices a body reads."""
        return frozenset(d for d in self.index_of.values() if d is not None)

    @cached_property
    def clipped(self) -> frozenset[int]:
        """The loops of valid extents."""
        return frozenset(d for outer, inner, _ in self.valid_extents for d in (outer, inner))

    def accesses(self) -> list[Access]:
        """Every access, also of tables; those that store are last."""
        reads = [access for stage in self.stages for access in stage.reads]
        tables = [access.table.at for access in reads if access.table is not None]
        return [*tables, *reads, *self.stores()]

    def stores(self) -> list[Access]:
        """The accesses that store; of two bf16 parts, the first."""
        held = self.bf16_split
        if held is None:
            return [self.store]
        return [held.store] if held.alone else [self.store, held.store]

    def in_place(self) -> list[tuple[Access, Access]]:
        """The reads, each with a store that moves alike: the result may be in the memory of such an
        operand.
        """
        reads = [access for stage in self.stages for access in stage.reads]
        return [
            (read, store)
            for read in reads
            for store in self.stores()
            if (read.coefficients, read.gap) == (store.coefficients, store.gap)
        ]

    @cached_property
    def signature_text(self) -> str:
        """The key of its code: equal for kernels that compile to the same code. Names of layers are
        not part of it.
        """
        captured = {value: (held.argument, held.strides) for value, held in self.captured.items()}

        def key(value: object) -> object:
            match value:
                case Stage():
                    return body_text(value.body, captured, _UNNAMED), value.inputs
                case Kernel() | Bf16Split():
                    names = [part.name for part in fields(value) if part.name != "captured"]
                    return [key(getattr(value, name)) for name in names]
                case tuple():
                    return [key(held) for held in value]
                case _:
                    return value

        return stable_text(key(self))


_UNNAMED = ("fastmath", "size")
"""Properties that are no part of a kernel's code, or stand elsewhere (`Kernel.body_sizes`)."""


def size_ops(stages: Iterable[Stage]) -> Iterator[SizeOp]:
    """The `rt.size` of bodies, in order."""
    for stage in stages:
        yield from (op for op in ops_of(stage.body) if isinstance(op, SizeOp))


def is_argument(value: SSAValue, body: Block) -> int | None:
    """The position of a block argument of the body; None for anything else."""
    if isinstance(value, BlockArgument) and value.owner is body:
        return value.index
    return None
