"""The loops level of a whole network: one function a kernel signature, and the entry point.

    func.func @run(%buffers: !llvm.ptr, %tid: index, %threads: index) {
      %x = rt.buffer %buffers[3] : memref<150528xf32>
      %first, %last = rt.share 56 of %tid, %threads
      func.call @conv_0(%x, %w, %y, %first, %last)
      rt.barrier %buffers, %threads
      ...

All threads run the same code on their share of each kernel's chunks. A barrier stands only where
a step touches memory that another step since the last barrier wrote, or writes what it read.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops import code, nest, transform
from ncc.compiler.loops.kernel import Access, Kernel, constant_kernel, kernel_of
from ncc.compiler.loops.schedule import Schedule
from ncc.compiler.loops.strategies import choose
from ncc.compiler.plan import Call, Frame, Kind, Place, Plan, Root, touched
from ncc.compiler.target import Target
from ncc.dialects import rt

index = IndexType()
ARENA_BUFFER, CONSTANT_BUFFER, FIRST_BUFFER = 1, 2, 3


@dataclass(frozen=True)
class Written:
    """A kernel's function, its memrefs, and how many chunks it has."""

    name: str
    types: list[MemRefType[Attribute]]
    chunks: int
    schedule: Schedule | None


@dataclass
class Step:
    """One call of the entry point, for reports."""

    kernel: str
    layers: tuple[str, ...]
    chunks: int


@dataclass
class Loops:
    """The module of a network at the loops level, and its steps in order."""

    module: ModuleOp
    steps: list[Step]
    kernels: int


def build(plan: Plan, target: Target, inputs: int) -> Loops:
    """Write every kernel of a plan once, and the entry point that calls them."""
    return _NetworkWriter(plan, target, inputs).write()


Interval: TypeAlias = tuple[Root, int, int]


@dataclass
class _Pending:
    """What was read and written since the last barrier."""

    reads: list[Interval] = field(default_factory=list)
    writes: list[Interval] = field(default_factory=list)


class _NetworkWriter:
    def __init__(self, plan: Plan, target: Target, inputs: int) -> None:
        self.plan = plan
        self.target = target
        self.inputs = inputs
        self.written: dict[Hashable, Written] = {}
        self.functions: list[func.FuncOp] = []
        self.buffers: dict[tuple[int, int, Attribute], SSAValue] = {}
        self.entry = Block(arg_types=[LLVMPointerType(), index, index])
        self.pending = _Pending()
        self.steps: list[Step] = []

    def write(self) -> Loops:
        for step in self.plan.steps:
            self._separate(step)
            if isinstance(step, Frame):
                self._frame(step)
            else:
                self._call(step)
        self.entry.add_op(func.ReturnOp())
        types: tuple[list[Attribute], list[Attribute]] = ([a.type for a in self.entry.args], [])
        run = func.FuncOp("run", types, Region(self.entry))
        return Loops(ModuleOp([*self.functions, run]), self.steps, len(self.written))

    def _call(self, call: Call) -> None:
        if code.is_code(call.function):
            key: Hashable = ("code", call.function)
            if key not in self.written:
                function = code.outlined(call.function, f"code_{len(self.written)}")
                self.functions.append(function)
                types = code.memrefs(function)
                self.written[key] = Written(function.sym_name.data, types, 1, None)
            self._emit(self.written[key], [*call.operands, *call.results], call.layers)
            return
        self._kernel(kernel_of(call), [*call.operands, *call.results], call.layers)

    def _kernel(self, kernel: Kernel, places: list[Place], layers: tuple[str, ...]) -> None:
        signature = kernel.signature()
        if signature not in self.written:
            name = f"{_kind(kernel)}_{len(self.written)}"
            if kernel.matrix is not None:
                schedule = transform.choose(kernel, self.target)
                self.functions.append(transform.write(kernel, schedule, name, self.target))
            else:
                schedule = choose(kernel, self.target)
                self.functions.append(nest.write(kernel, schedule, name))
            chunks = nest.chunk_count(kernel, schedule)
            self.written[signature] = Written(name, nest.kernel_types(kernel), chunks, schedule)
        self._emit(self.written[signature], places, layers)

    def _emit(self, written: Written, places: list[Place], layers: tuple[str, ...]) -> None:
        buffers, tid, threads = self.entry.args
        arguments = [
            self._buffer(place, kind) for place, kind in zip(places, written.types, strict=True)
        ]
        share = rt.ShareOp(written.chunks, tid, threads)
        call = func.CallOp(written.name, [*arguments, share.first, share.last], [])
        self.entry.add_ops([share, call])
        self.steps.append(Step(written.name, layers, written.chunks))

    def _buffer(self, place: Place, kind: MemRefType[Attribute]) -> SSAValue:
        root = place.root
        number = {
            Kind.ARENA: ARENA_BUFFER,
            Kind.CONSTANT: CONSTANT_BUFFER,
            Kind.INPUT: FIRST_BUFFER + root.number,
            Kind.OUTPUT: FIRST_BUFFER + self.inputs + root.number,
        }[root.kind]
        offset = root.byte_offset + place.offset * root.element_bytes
        key = (number, offset, kind)
        if key not in self.buffers:
            op = rt.BufferOp(self.entry.args[0], number, kind, offset)
            self.entry.add_op(op)
            self.buffers[key] = op.memref
        return self.buffers[key]

    def _frame(self, frame: Frame) -> None:
        """Each border slab in turn: axes before it without their own border, those behind with."""
        for axis in range(len(frame.shape)):
            for begin, size in (
                (0, frame.low[axis]),
                (frame.shape[axis] - frame.high[axis], frame.high[axis]),
            ):
                if size == 0:
                    continue
                first, extents = [0] * len(frame.shape), list(frame.shape)
                for before in range(axis):
                    first[before] = frame.low[before]
                    extents[before] -= frame.low[before] + frame.high[before]
                first[axis], extents[axis] = begin, size
                place = frame.place.moved(first)
                element = nest.element_of(frame.place.root.value)
                store = Access(0, 0, place.strides)
                kernel = constant_kernel(extents, frame.value, store, (element,))
                self._kernel(kernel, [place], ("frame",))

    # --- barriers ---------------------------------------------------------------------------

    def _separate(self, step: Call | Frame) -> None:
        """Put a barrier before a step that depends on a step since the last one."""
        reads, writes = (_intervals(roots) for roots in touched(step))
        conflict = (
            any(_overlap(r, w) for r in reads for w in self.pending.writes)
            or any(_overlap(w, r) for w in writes for r in self.pending.reads)
            or any(_overlap(w, v) and w[0] is not v[0] for w in writes for v in self.pending.writes)
        )
        if conflict:
            self.entry.add_op(rt.BarrierOp(self.entry.args[0], self.entry.args[2]))
            self.pending = _Pending()
        self.pending.reads += reads
        self.pending.writes += writes


def _intervals(roots: list[Root]) -> list[Interval]:
    kept = [root for root in roots if root.kind in (Kind.ARENA, Kind.OUTPUT)]
    return [(root, root.byte_offset, root.byte_offset + root.bytes) for root in kept]


def _overlap(a: Interval, b: Interval) -> bool:
    if a[0].kind is not b[0].kind:
        return False
    if a[0].kind is Kind.OUTPUT and a[0].number != b[0].number:
        return False
    return a[1] < b[2] and b[1] < a[2]


def _kind(kernel: Kernel) -> str:
    """A readable first half of a kernel's name."""
    if kernel.matrix is not None:
        return "transform"
    if kernel.accumulates and kernel.reduced:
        owner = kernel.anchor.yielded.owner
        if isinstance(owner, Block):
            raise CompilerBug("a reduction that only hands on")
        factors = [o.owner for o in owner.operands]
        if any(not isinstance(f, Block) and f.name == "arith.mulf" for f in factors):
            return "contraction"
        return "reduction"
    return "pointwise" if kernel.anchor.inputs else "fill"
