"""The memory plan: the steps of one run, and the memory of its values.

`linalg/memory/plan_memory` makes it, and the loops level reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import chain
from math import prod
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects.size import is_open


class Kind(Enum):
    """The memory that a buffer is a part of."""

    ARENA = auto()
    CONSTANT = auto()
    INPUT = auto()
    OUTPUT = auto()


MOST_ELEMENTS = 1 << 40
"""The assumed size of memory whose size only the run knows."""


def elements_of(shape: Sequence[int]) -> int:
    """The elements of a tensor, or an upper bound if only the run knows the number."""
    return MOST_ELEMENTS if DYNAMIC_INDEX in shape else prod(shape)


@dataclass(eq=False)
class Buffer:
    """Memory of its own: `elements` values of `element_bytes` bytes.

    `number` is the position among the inputs, outputs or constants; `byte_offset` is where the
    buffer starts in the arena, the packed weights or the output. `part`: the part of the arena that
    it starts in, and its offset counts from, where each run lays out the arena.
    """

    kind: Kind
    elements: int
    element_bytes: int
    number: int
    value: SSAValue
    byte_offset: int = 0
    part: int | None = None

    @property
    def bytes(self) -> int:
        return self.elements * self.element_bytes


@dataclass(frozen=True)
class Subview:
    """A strided window of a buffer; offset and strides count elements.

    further: in a loop, how many elements further on it is in the next iteration.
    """

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]
    further: int = 0

    def moved(self, by: Sequence[int]) -> Subview:
        """The window that starts `by` elements further along each axis."""
        distance = sum(s * n for s, n in zip(self.strides, by, strict=True))
        return replace(self, offset=self.offset + distance)


@dataclass(frozen=True)
class Call:
    """A kernel on the subviews of its operands, then of its results.

    `scratch`: where memory of its own is, in order; None is the stack, and so is all of it where
    nothing is said.
    """

    function: func.FuncOp
    operands: tuple[Subview, ...]
    results: tuple[Subview, ...]
    layers: tuple[str, ...]
    scratch: tuple[Subview | None, ...] = ()

    @property
    def subviews(self) -> list[Subview]:
        """What the kernel is called with: operands, results, scratch memory beyond the stack."""
        kept = [subview for subview in self.scratch if subview is not None]
        return [*self.operands, *self.results, *kept]


@dataclass(frozen=True)
class Halo:
    """The border of a padded tensor, filled with `value`."""

    subview: Subview
    shape: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    value: float

    @property
    def border(self) -> Border:
        """The elements of the buffer that it sets, and their value."""
        size = self.subview.buffer.element_bytes
        # As text, in which -0.0 is not 0.0 and nan is nan.
        value = repr(self.value)
        return (
            size,
            self.subview.offset,
            self.subview.strides,
            self.shape,
            self.low,
            self.high,
            value,
        )


Border: TypeAlias = tuple[object, ...]
"""Equal for halos that set the same elements of their buffers to the same value."""

Step: TypeAlias = Call | Halo


@dataclass(frozen=True)
class Loop:
    """Calls that come again, for another part of the result.

    calls: those of the first iteration; where inputs decide the count, the last one may be a
    smaller tile of the same memory (`dialects/tiled.py`). count: of iterations. own: buffers for
    what calls of an iteration hand on, which do not move. threads: in how many parts these are, one
    for each thread that does whole iterations. If it is 1, all threads share each call of each
    iteration.
    """

    calls: tuple[Call, ...]
    count: int
    own: frozenset[Buffer]
    threads: int = 1

    def __post_init__(self) -> None:
        subviews = [subview for call in self.calls for subview in call.subviews]
        if any(subview.further and subview.buffer in self.own for subview in subviews):
            raise CompilerBug("what an iteration hands on moves with it")

    @property
    def is_private(self) -> bool:
        """Whether one thread does a whole iteration."""
        return self.threads > 1

    @property
    def layers(self) -> tuple[str, ...]:
        """Of all its calls."""
        return tuple(dict.fromkeys(layer for call in self.calls for layer in call.layers))

    def iteration(self, number: int) -> Iterator[Call]:
        """The calls of one iteration, as steps that all threads share.

        Each iteration writes the same own memory. So that it is not taken for parts of one value,
        it is another buffer in each.
        """
        own = {buffer: replace(buffer) for buffer in self.own}
        for call in self.calls:
            moved = [
                Subview(own.get(at.buffer, at.buffer), at.offset + number * at.further, at.strides)
                for at in call.subviews
            ]
            reads, writes = len(call.operands), len(call.operands) + len(call.results)
            kept = iter(moved[writes:])
            scratch = tuple(None if at is None else next(kept) for at in call.scratch)
            operands, results = tuple(moved[:reads]), tuple(moved[reads:writes])
            yield replace(call, operands=operands, results=results, scratch=scratch)


AnyStep: TypeAlias = Step | Loop


@dataclass(frozen=True)
class Part:
    """A part of the arena: bytes that are in use from the first of some epochs to the last.

    Epochs are the stretches of a run between barriers, in order. Parts that are in use in the same
    epoch are kept apart; others may meet.
    """

    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """The steps of one run, and the memory of its values.

    arena: its parts, if the sizes of some of them depend on the inputs. Then each run lays them
    out, and `arena_bytes` is 0.
    """

    steps: tuple[AnyStep, ...]
    subviews: dict[SSAValue, Subview]
    constants: tuple[Buffer, ...]
    arena_bytes: int
    constant_bytes: int
    outputs: tuple[Buffer, ...]
    arena: tuple[Part, ...] = ()

    def unrolled(self) -> Plan:
        """The same with the calls of all iterations in place of each loop, where it is known how
        many there are.
        """
        return replace(self, steps=tuple(chain(*map(_unrolled, self.steps))))


def _unrolled(step: AnyStep) -> Iterable[AnyStep]:
    """The calls of all iterations; a loop itself where only the run knows how many there are."""
    if not isinstance(step, Loop) or is_open(step.count):
        return [step]
    return chain(*map(step.iteration, range(step.count)))


def halos_of(steps: Iterable[AnyStep]) -> dict[Buffer, list[Halo]]:
    """The halos in each buffer that has some, in order."""
    found: dict[Buffer, list[Halo]] = {}
    for step in steps:
        if isinstance(step, Halo):
            found.setdefault(step.subview.buffer, []).append(step)
    return found


def calls_of(step: Call | Loop) -> tuple[Call, ...]:
    """Itself, or those of the first iteration."""
    return step.calls if isinstance(step, Loop) else (step,)


def touched(step: AnyStep) -> tuple[list[Buffer], list[Buffer]]:
    """The buffers that a step reads, and the buffers that it writes."""
    if isinstance(step, Halo):
        return [], [step.subview.buffer]
    if isinstance(step, Loop):
        reads, writes = zip(*map(touched, step.calls), strict=True)
        return list(chain(*reads)), list(chain(*writes))
    given, subviews = len(step.operands), [subview.buffer for subview in step.subviews]
    return subviews[:given], subviews[given:]
