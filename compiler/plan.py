"""The memory plan: what one inference does, step by step, and where its values are.

The linalg level makes it (`linalg/memory/plan_memory`), the loops level reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain
from math import prod
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue


class Kind(Enum):
    """What memory a root is part of."""

    ARENA = auto()
    CONSTANT = auto()
    INPUT = auto()
    OUTPUT = auto()


MOST_ELEMENTS = 1 << 40
"""What counts as the size of memory whose size only the run knows."""


def elements_of(shape: Sequence[int]) -> int:
    """How many elements a tensor has, or more where only the run knows."""
    return MOST_ELEMENTS if DYNAMIC_INDEX in shape else prod(shape)


@dataclass(eq=False)
class Buffer:
    """Memory of its own: `elements` values of `element_bytes` bytes.

    `number` is the position among the inputs, outputs or constants; `byte_offset` is where the
    root starts in the arena, the packed weights or the output.
    """

    kind: Kind
    elements: int
    element_bytes: int
    number: int
    value: SSAValue
    byte_offset: int = 0

    @property
    def bytes(self) -> int:
        return self.elements * self.element_bytes


@dataclass(frozen=True)
class Subview:
    """A strided window of a root; offset and strides count elements."""

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]

    def moved(self, by: Sequence[int]) -> Subview:
        """The window that starts `by` cells further along each axis."""
        distance = sum(s * n for s, n in zip(self.strides, by, strict=True))
        return Subview(self.buffer, self.offset + distance, self.strides)


@dataclass(frozen=True)
class Call:
    """A kernel on the places of its operands, then of its results.

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
    """The cells of a padded tensor that are not the padded value's own, set to `value`."""

    subview: Subview
    shape: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    value: float

    @property
    def border(self) -> Border:
        """Which cells of its root it sets, and to what."""
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
"""Equal for frames that set the same cells of their roots to the same value."""

Step: TypeAlias = Call | Halo


@dataclass(frozen=True)
class Rounds:
    """Calls that come again, for another part of the result: whole rounds are what threads share.

    calls: those of the first round. count: of rounds. further: for each place of each call, how
    many elements of its root it lies further in the next round. own: roots that each of so many
    threads has a part of, for what calls of a round hand on.
    """

    calls: tuple[Call, ...]
    count: int
    further: tuple[tuple[int, ...], ...]
    own: frozenset[Buffer]
    threads: int

    @property
    def layers(self) -> tuple[str, ...]:
        """Of all its calls."""
        return tuple(dict.fromkeys(layer for call in self.calls for layer in call.layers))


AnyStep: TypeAlias = Step | Rounds


@dataclass(frozen=True)
class Plan:
    """What one inference does and where its values are."""

    steps: tuple[AnyStep, ...]
    subviews: dict[SSAValue, Subview]
    constants: tuple[Buffer, ...]
    arena_bytes: int
    constant_bytes: int
    outputs: tuple[Buffer, ...]


def halos_of(steps: Iterable[AnyStep]) -> dict[Buffer, list[Halo]]:
    """The frames in each root that has some, in order."""
    found: dict[Buffer, list[Halo]] = {}
    for step in steps:
        if isinstance(step, Halo):
            found.setdefault(step.subview.buffer, []).append(step)
    return found


def touched(step: AnyStep) -> tuple[list[Buffer], list[Buffer]]:
    """The roots that a step reads and those that it writes."""
    if isinstance(step, Halo):
        return [], [step.subview.buffer]
    if isinstance(step, Rounds):
        reads, writes = zip(*map(touched, step.calls), strict=True)
        return list(chain(*reads)), list(chain(*writes))
    given, subviews = len(step.operands), [subview.buffer for subview in step.subviews]
    return subviews[:given], subviews[given:]
