"""Writes a constant into boxes of memory: the border of a padded value, and of any other.

    func.func private @name(%memory: memref<?xi32>, %bits,
                            %offset0, %extent0, %stride0, .., %run0, %offset1, .., %first, %last)
      for chunk in [first, min(last, extent0)):             box 0, and the next ones in the same way
        for .. in [0, ..): ...
          for n in [0, run0): memory[offset0 + chunk * stride0 + .. + n] = bits

What is stored, the entry point says, and where boxes are, and how large: little is stored, and
networks have many borders, most of which have as many boxes of as many loops. One kernel for these
is soon made.

A chunk is a turn of the outermost loop of every box that has so many; a run alone is one chunk.

A kernel for each size of border would be a tenth of what LLVM compiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, MemRefType, PackableType
from xdsl.ir import Attribute, Block, SSAValue

from ncc.compiler.cost_model import Threads
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import LoopBuilder, index, memory_type
from ncc.compiler.loops.emit.position import reach_of
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.kernel.normal_form import normalised
from ncc.compiler.loops.kernel.read_kernel import constant_kernel
from ncc.compiler.loops.kernel.stable_text import stable_text
from ncc.compiler.loops.launch.halos import Box
from ncc.compiler.plan import Subview
from ncc.dialects.element import number
from ncc.dialects.size import hint, largest

USUAL = (2, 1, 0, 0)
"""Loops around the runs of each box, of a border in blocks. A border of fewer boxes or loops is
made like it, by runs of no elements and loops of one turn.
"""


@dataclass(frozen=True)
class Fill:
    """A box as loops: elements from `offset`, the outermost loop first, then `run` in a row."""

    offset: int
    loops: tuple[tuple[int, int], ...]
    """The extent and the stride of each."""
    run: int

    @staticmethod
    def of(kernel: Kernel) -> Fill:
        """How a kernel stores a constant, in the order of its memory."""
        store = kernel.store
        *loops, (run, last) = sorted(
            zip(kernel.extents, store.coefficients, strict=True), key=lambda loop: -hint(loop[1])
        ) or [(1, 1)]
        if last == 1:
            return Fill(store.offset, tuple(loops), run)
        return Fill(store.offset, (*loops, (run, last)), 1)

    def within(self, depth: int) -> Fill:
        """The same in so many loops."""
        return replace(self, loops=self.loops + ((1, 0),) * (depth - len(self.loops)))

    @property
    def chunks(self) -> int:
        """Turns of the outermost loop."""
        return self.loops[0][0] if self.loops else 1

    @property
    def numbers(self) -> tuple[int, ...]:
        """What the kernel is told of it."""
        return (self.offset, *(number for loop in self.loops for number in loop), self.run)


@dataclass(frozen=True)
class Fills:
    """Boxes of the memory behind a place, to be filled with one value.

    kernels: one for each box, for reports.
    """

    kernels: tuple[Kernel, ...]
    value: float
    element: PackableType[Any]

    @staticmethod
    def of(
        boxes: Sequence[Box],
        subview: Subview,
        value: float,
        element: Attribute,
        costs: Threads,
    ) -> Fills:
        """place: where the offsets of the boxes are counted from."""
        if not isinstance(element, PackableType):
            raise CompilerBug(f"a border of {element}")
        kernels = []
        for box in boxes:
            store = Access(0, box.subview.offset - subview.offset, box.subview.strides)
            kernel = constant_kernel(box.extents, value, store, (element,))
            kernels.append(normalised(kernel, costs))
        return Fills(tuple(kernels), value, element)

    @cached_property
    def parts(self) -> tuple[Fill, ...]:
        """The boxes as loops, those of most loops first."""
        found = sorted(map(Fill.of, self.kernels), key=lambda part: -len(part.loops))
        nothing = [Fill(0, (), 0)] * (len(USUAL) - len(found))
        usual = list(zip([*found, *nothing], USUAL, strict=False))
        if len(found) > len(USUAL) or any(len(part.loops) > depth for part, depth in usual):
            return tuple(found)
        return tuple(part.within(depth) for part, depth in usual)

    @property
    def depths(self) -> tuple[int, ...]:
        """How many loops there are around the runs of each box."""
        return tuple(len(part.loops) for part in self.parts)

    @cached_property
    def text(self) -> str:
        """All that the kernel depends on."""
        return stable_text(("fills", self.depths, self.bits_type))

    @cached_property
    def chunks(self) -> int:
        return largest(*(part.chunks for part in self.parts))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """What the kernel is told: the bits of the value, then of one box after the other."""
        held = self.element.pack([number(self.value, self.element).value.data])
        bits = int.from_bytes(held, "little", signed=True)
        return (bits, *(told for part in self.parts for told in part.numbers))

    @property
    def bits_type(self) -> IntegerType:
        """What the kernel takes elements for: as many bits."""
        return IntegerType(8 * self.element.compile_time_size)

    @property
    def type(self) -> MemRefType[Attribute]:
        """The kernel's memory, however much it is."""
        return memory_type(self.bits_type, DYNAMIC_INDEX)

    @cached_property
    def reach(self) -> int:
        """How many bytes of it are touched here."""
        elements = largest(*(reach_of(kernel, 0) for kernel in self.kernels))
        return elements * self.element.compile_time_size

    def write(self, name: str, lanes: int) -> func.FuncOp:
        """The kernel. lanes: of the target's vectors."""
        return _Writer(self, lanes).written(name)


class _Writer:
    """The function of a kernel that fills boxes, being written."""

    def __init__(self, fills: Fills, lanes: int) -> None:
        self.fills, self.lanes = fills, lanes
        self.entry = Block(
            arg_types=[fills.type, *(index for _ in (*fills.numbers, "first", "last"))]
        )
        self.memory, bits, *self.numbers = self.entry.args[:-2]
        self.first, self.last = self.entry.args[-2:]
        self.builder = LoopBuilder(self.entry)
        self.bits = self.builder.add(arith.IndexCastOp, [bits], fills.bits_type)
        self.vector = self.builder.splat(self.bits, lanes)

    def written(self, name: str) -> func.FuncOp:
        builder = self.builder
        numbers: Iterator[SSAValue] = iter(self.numbers)
        for depth in self.fills.depths:
            offset = next(numbers)
            loops = [(next(numbers), next(numbers)) for _ in range(depth)]
            (extent, stride), *inner = loops or [(builder.constant(1), builder.constant(0))]
            end = builder.binary(arith.MinSIOp, self.last, extent)
            self._loop(self.first, end, stride, offset, inner, next(numbers))
        return builder.function(name)

    def _loop(
        self,
        first: SSAValue | int,
        last: SSAValue,
        stride: SSAValue,
        offset: SSAValue,
        inner: Sequence[tuple[SSAValue, SSAValue]],
        run: SSAValue,
    ) -> None:
        """From one turn of a loop to another, all of those inside it."""
        builder = self.builder

        def body(turn: SSAValue) -> None:
            distance = builder.binary(arith.MuliOp, turn, stride)
            at = builder.binary(arith.AddiOp, offset, distance)
            if inner:
                (extent, next_stride), *rest = inner
                self._loop(0, extent, next_stride, at, rest, run)
            else:
                self._run(at, run)

        builder.each(first, last, 1, body)

    def _run(self, at: SSAValue, run: SSAValue) -> None:
        """Neighbouring elements: vectors of them, and the rest one by one."""
        builder, lanes = self.builder, self.lanes
        vectors = builder.binary(arith.SubiOp, run, builder.remainder(run, lanes))

        def store(value: SSAValue, n: SSAValue) -> None:
            builder.store(value, self.memory, builder.binary(arith.AddiOp, at, n))

        builder.each(0, vectors, lanes, partial(store, self.vector))
        builder.each(vectors, run, 1, partial(store, self.bits))
