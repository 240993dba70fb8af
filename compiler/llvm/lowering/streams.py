"""Strength reduction: addresses that move with the counter of a loop are added to, not multiplied.

    loop(i):  ... getelementptr float, x, 16 * i
    ->  loop(i, p):  ... p;  p' = getelementptr float, p, 16 * step

If many addresses move by the same distance, they share one offset, so that they need no more
registers than their bases: `loop(i, o):  ... getelementptr float, x, o;  ... getelementptr float,
y, o`.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import FixedBitwidthType, i64
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ncc.compiler.llvm.llvm_builder import POINTER, LlvmBuilder, element_pointer
from ncc.compiler.llvm.scopes import Scope

SCALES = (1, 2, 4, 8)
"""Factors that addressing modes of instructions have."""

ALONE = 2
"""The most addresses of equal motion that move each by itself; more of them share an offset."""


class Motion(NamedTuple):
    """The distance of one iteration: so many elements of a type."""

    factor: int
    element: Attribute

    @property
    def is_free(self) -> bool:
        """Whether addressing modes have this factor."""
        return self.factor * _bytes(self.element) in SCALES


def _bytes(element: Attribute) -> int:
    """The distance of two elements in bytes."""
    if isinstance(element, LLVMArrayType):
        return int(element.size.data) * _bytes(element.type)
    return element.size if isinstance(element, FixedBitwidthType) else 8


class Stream(NamedTuple):
    """A loop-invariant base, and an argument of the loop's header: the pointer that moves."""

    base: SSAValue
    motion: Motion
    moved: BlockArgument


class Offset(NamedTuple):
    """An argument of the header: the common offset of addresses of equal motion, in elements."""

    motion: Motion
    moved: SSAValue


class Streams:
    """The addresses that move with one loop, while its body is written.

    counter: of the loop, an argument of its header; None if it does not grow by a constant.
    """

    def __init__(
        self, builder: LlvmBuilder, scope: Scope, header: Block, counter: SSAValue | None
    ) -> None:
        self.builder, self.scope, self.header, self.counter = builder, scope, header, counter
        self.alone: list[Stream] = []
        self.shared: list[Offset] = []
        self._known: dict[tuple[SSAValue, Motion], BlockArgument] = {}

    def moved(self, base: SSAValue, motion: Motion) -> SSAValue:
        """The address in this iteration."""
        found = self._known.get((base, motion))
        if found is None:
            found = self._known[base, motion] = self._argument(POINTER)
            self.alone.append(Stream(base, motion, found))
        return found

    def share(self) -> None:
        """Let addresses share one offset if too many have the same motion."""
        for motion in dict.fromkeys(stream.motion for stream in self.alone):
            alike = [stream for stream in self.alone if stream.motion == motion]
            if len(alike) > ALONE:
                offset = self._argument(i64)
                self.shared.append(Offset(motion, offset))
                for stream in alike:
                    self.alone.remove(stream)
                    self._move_by(stream, offset)

    def _move_by(self, stream: Stream, offset: SSAValue) -> None:
        """Compute a stream from its base at the start of the body."""
        op = element_pointer(stream.base, offset, stream.motion.element)
        first = self.header.first_op
        if first is None:
            self.header.add_op(op)
        else:
            self.header.insert_op_before(op, first)
        stream.moved.replace_all_uses_with(op.results[0])
        self.header.erase_arg(stream.moved)

    def _argument(self, type: Attribute) -> BlockArgument:
        added = self.header.insert_arg(type, len(self.header.args))
        self.builder.note_in(self.scope, added)
        return added
