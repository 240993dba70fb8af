"""Plans memory statically: the steps in order, and an offset in one arena for every buffer.

A step calls a kernel, is a loop of such calls, or fills the halo of a padded value: the border,
which the producer of the value does not write. A buffer lives from the first step that writes it to
the last step that reads it. Large scratch memory of a kernel is a buffer that lives for one step.
The plan takes buffers one by one, the largest first, and puts each into the lowest gap among the
buffers that are alive at the same time.

Successive buffers with the same size and the same halos share an offset, if the arena need not
grow: each thread writes where it wrote before, and a halo that is still there is not written again.

If sizes depend on the inputs, each run lays out the arena. The plan says what shares an
offset, a part of the arena, and in which epochs each part is in use.

Needs: an outlined network (`form-fusion-groups`).
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from math import prod
from typing import TypeAlias

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from ncc.compiler.cost_model import CostModel
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.generics import callee_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import contiguous, shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.memory.add_in_place import Shared, add_in_place
from ncc.compiler.linalg.memory.alive import alive_at
from ncc.compiler.linalg.memory.assign_buffers import Placement, element_bytes
from ncc.compiler.linalg.memory.join_pads import join_pads
from ncc.compiler.linalg.memory.loops import loop_of
from ncc.compiler.linalg.memory.parts import parts_of, put_into_parts
from ncc.compiler.linalg.memory.standing_halos import BordersOf, borders_of, without_standing_halos
from ncc.compiler.plan import (
    AnyStep,
    Buffer,
    Call,
    Halo,
    Kind,
    Loop,
    Plan,
    Subview,
    halos_of,
    touched,
)
from ncc.compiler.target import AVX512
from ncc.dialects.code import CodeOp
from ncc.dialects.operation import ops_of
from ncc.dialects.size import (
    hint,
    in_all_tiles,
    in_full_tile,
    is_of_tile,
    is_open,
    largest,
    smallest,
)
from ncc.dialects.structured import pad_sides
from ncc.dialects.tiled import TiledLoopOp
from ncc.runtime.artifact import ALIGNMENT

_Lifetime: TypeAlias = tuple[int, int]
"""The first and the last step that touch a buffer."""

_Span: TypeAlias = tuple[int, int, int, int]
"""The begin and the end of a buffer in the arena, and its lifetime."""


def plan(
    module: ModuleOp,
    threads: int = 1,
    cache: int = AVX512.core.l2_bytes,
    costs: CostModel = AVX512.costs,
) -> Plan:
    """Give all values of an outlined network their memory.

    The module changes: pads of one value are joined, and copies are inserted where they are needed.
    threads: how many share each step, or the iterations of a loop. cache: bytes of the second level
    that each has.
    """
    network = network_of(module)
    join_pads(network.body.block)
    placement = Placement(module, network)
    steps = list(_Steps(module, placement, threads, cache, costs).of(network))
    borders = borders_of(steps)
    steps, memory = add_in_place(steps, costs.memory)
    constants = [buffer for buffer in placement.buffers if buffer.kind is Kind.CONSTANT]
    position = 0
    for buffer in constants:
        buffer.byte_offset = position
        position += _rounded(buffer.bytes)
    returned = network.body.block.last_op
    if not isinstance(returned, func.ReturnOp):
        raise CompilerBug("a network without a return")
    outputs = tuple(placement.subviews[value].buffer for value in returned.operands)
    near = costs.memory.near_steps if threads == 1 else costs.memory.near_steps_of_threads
    is_fixed = not is_open(*(buffer.elements for buffer in placement.buffers))
    size = _lay_out(steps, memory, borders, near, costs, is_fixed)
    steps = list(without_standing_halos(steps, borders))
    arena = () if is_fixed else tuple(parts_of(steps, threads))
    size, subviews = size if is_fixed else 0, placement.subviews
    return Plan(tuple(steps), subviews, tuple(constants), size, position, outputs, arena)


class _Steps:
    """The steps of a network whose values have their memory."""

    def __init__(
        self, module: ModuleOp, placement: Placement, threads: int, cache: int, costs: CostModel
    ) -> None:
        functions = (f for f in ops_of(module.body.block) if isinstance(f, func.FuncOp))
        self.functions = {function.sym_name.data: function for function in functions}
        self.placement, self.costs = placement, costs
        self.threads, self.cache = threads, cache

    def of(self, network: func.FuncOp) -> Iterator[AnyStep]:
        """All of them in order; the halo of a value comes in front of what writes it first."""
        halos = halos_of(_halos(network, self.placement))
        for op in ops_of(network.body.block):
            step: Call | Loop
            if isinstance(op, func.CallOp):
                step = self._call(op)
            elif isinstance(op, TiledLoopOp):
                calls = [self._call(c) for c in ops_of(op.body.block) if isinstance(c, func.CallOp)]
                step = loop_of(calls, op.times, self.threads, self.cache, self.costs.threads)
                halos |= halos_of(_halos_in(op, step, self.placement))
            else:
                continue
            for buffer in touched(step)[1]:
                yield from halos.pop(buffer, [])
            yield step
        if halos:
            raise CompilerBug("no kernel writes a padded value")

    def _call(self, op: func.CallOp) -> Call:
        operands = tuple(self.placement.subviews[value] for value in op.operands)
        results = tuple(self.placement.subviews[value] for value in op.results)
        function = self.functions[callee_of(op)]
        scratch = _scratch(function, self.costs.memory.most_on_stack)
        return Call(function, operands, results, _layers(op), scratch)


def _scratch(function: func.FuncOp, most_on_stack: int) -> tuple[Subview | None, ...]:
    """The scratch memory of a kernel: subviews of the arena, or None for the stack.

    Iterations may run at the same time, so that each has its own on the stack of its thread.
    """
    op = next((op for op in ops_of(function.body.block) if isinstance(op, CodeOp)), None)
    if op is None or op.scratch is None:
        return ()
    subviews: list[Subview | None] = []
    arguments = op.body.block.args[len(op.inputs) + len(op.results) :]
    for argument, kind in zip(arguments, op.scratch, strict=False):
        shape = kind.get_shape()
        buffer = Buffer(Kind.ARENA, prod(shape), element_bytes(kind.element_type), 0, argument)
        is_large = op.iterations is None and buffer.bytes > most_on_stack
        subviews.append(Subview(buffer, 0, contiguous(shape)) if is_large else None)
    return tuple(subviews)


def _layers(call: func.CallOp) -> tuple[str, ...]:
    held = call.attributes.get("layers")
    names = held.data if isinstance(held, ArrayAttr) else ()
    return tuple(name.data for name in names if isinstance(name, StringAttr))


def _halos(network: func.FuncOp, placement: Placement) -> Iterator[Halo]:
    """The halos of all padded values; each is filled before the first value of its buffer."""
    for op in network.body.block.ops:
        if isinstance(op, tensor.PadOp):
            low, high = map(tuple, pad_sides(op))
            yield Halo(placement.subviews[op.result], shape_of(op.result), low, high, pad_value(op))


def _halos_in(op: TiledLoopOp, loop: Loop, placement: Placement) -> Iterator[Halo]:
    """The halos of padded values in the body of a loop, in the memory of all iterations."""
    for inner in ops_of(op.body.block):
        if isinstance(inner, tensor.PadOp):
            (low, high), subview = map(tuple, pad_sides(inner)), placement.subviews[inner.result]
            shape = shape_of(inner.result)
            if subview.further and is_of_tile(*shape):
                # Tiles lie one behind the other, as one value, and the last one may be smaller.
                whole = tuple(in_all_tiles(n, loop.count) if is_of_tile(n) else n for n in shape)
                yield Halo(replace(subview, further=0), whole, low, high, pad_value(inner))
                continue
            count = loop.count if subview.further else loop.threads
            apart = subview.further or subview.buffer.elements // loop.threads
            all_of_them = replace(subview, strides=(apart, *subview.strides), further=0)
            shape = count, *map(in_full_tile, shape)
            yield Halo(all_of_them, shape, (0, *low), (0, *high), pad_value(inner))


def _rounded(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def _lay_out(
    steps: Sequence[AnyStep],
    memory: Shared,
    borders: BordersOf,
    near: int,
    costs: CostModel,
    is_fixed: bool,
) -> int:
    """Give every buffer of the arena its offset; returns the arena's size in bytes.

    memory: buffers that take over the memory of another one. near: steps between buffers that share
    an offset. is_fixed: whether no size depends on the inputs. If one does, buffers get parts of
    the arena in place of offsets, and the size is that for the hint.
    """
    within = _within(memory)
    alive: dict[Buffer, _Lifetime] = {}
    for time, step in enumerate(steps):
        reads, writes = touched(step)
        for touching in (*reads, *writes):
            if touching.kind is Kind.ARENA:
                buffer, _ = within.get(touching, (touching, 0))
                first, _ = alive.get(buffer, (time, time))
                alive[buffer] = (first, time)
    lives = ((first, last, _takes(buffer)) for buffer, (first, last) in alive.items())
    bytes_at = alive_at(lives, len(steps))
    least = max(bytes_at, default=0)  # no arena is smaller
    first_of, together = _sharing(alive, borders, bytes_at, near)
    offsets, size = _least_offsets(together, least, costs)
    if size > least:
        apart, smaller = _least_offsets(alive, least, costs)
        if smaller < size:
            offsets, size, first_of = apart, smaller, {buffer: buffer for buffer in alive}
    for buffer in alive:
        buffer.byte_offset = offsets[first_of[buffer]]
    if not is_fixed:
        put_into_parts(alive, first_of, borders)
    for buffer, (whole, begin) in within.items():
        buffer.byte_offset = whole.byte_offset + begin
        buffer.part = whole.part
    return size


def _takes(buffer: Buffer) -> int:
    """The bytes that a buffer takes of the arena; for the hint, if they depend on the inputs."""
    return _rounded(hint(buffer.elements) * buffer.element_bytes)


def _within(memory: Shared) -> dict[Buffer, tuple[Buffer, int]]:
    """For each buffer in shared memory: the buffer that has the offset, and its own begin there."""
    sharing: dict[Buffer, dict[Buffer, int]] = {}
    for buffer, (first, begin) in memory.items():
        sharing.setdefault(first, {first: 0})[buffer] = begin
    found: dict[Buffer, tuple[Buffer, int]] = {}
    for first, begins in sharing.items():
        low = smallest(*begins.values())
        size = largest(*(begin + buffer.bytes for buffer, begin in begins.items())) - low
        whole = first if size == first.bytes else Buffer(Kind.ARENA, size, 1, 0, first.value)
        found |= {buffer: (whole, begin - low) for buffer, begin in begins.items()}
    return found


def _sharing(
    alive: Mapping[Buffer, _Lifetime], borders: BordersOf, bytes_at: list[int], near: int
) -> tuple[dict[Buffer, Buffer], dict[Buffer, _Lifetime]]:
    """The first buffer at the offset of each one, and the lifetimes of these offsets.

    bytes_at: of the buffers that are alive at each step; offsets that wait for their next buffer
    are added.
    """
    most = max(bytes_at, default=0)
    first_of: dict[Buffer, Buffer] = {}
    together: dict[Buffer, _Lifetime] = {}
    latest: dict[tuple[int, object], Buffer] = {}
    for buffer, (first, last) in sorted(alive.items(), key=lambda item: item[1]):
        size, alike = _takes(buffer), (_rounded(buffer.bytes), borders.get(buffer))
        other = latest.get(alike, buffer)
        begin, end = together.get(other, (first, first))
        between = range(end + 1, first)
        fits = all(bytes_at[time] + size <= most for time in between)
        if other is not buffer and end < first <= end + near and fits:
            first_of[buffer], together[other] = other, (begin, last)
            for time in between:
                bytes_at[time] += size
        else:
            first_of[buffer] = latest[alike] = buffer
            together[buffer] = first, last
    return first_of, together


def _least_offsets(
    alive: Mapping[Buffer, _Lifetime], least: int, costs: CostModel
) -> tuple[dict[Buffer, int], int]:
    """The offsets with the smallest end that the tries find."""
    found: list[tuple[dict[Buffer, int], int]] = []
    for offsets, size in _tries(alive, costs):
        found.append((offsets, size))
        if size <= least:
            break
    return min(found, key=lambda one: one[1])


def _tries(
    alive: Mapping[Buffer, _Lifetime], costs: CostModel
) -> Iterator[tuple[dict[Buffer, int], int]]:
    """Offsets and their end: with the largest buffers first, or the longest-lived ones; and after
    either, with the buffer first that ended highest in the try before.
    """
    for order in (
        sorted(alive, key=lambda buffer: hint(buffer.bytes), reverse=True),
        sorted(alive, key=lambda buffer: alive[buffer][1], reverse=True),
    ):
        for _ in range(1 + costs.memory.arena_tries):
            offsets, size = _offsets(order, alive, costs.memory.steps_together)
            yield offsets, size
            highest = max(order, key=lambda buffer: offsets[buffer] + _takes(buffer))
            order.remove(highest)
            order.insert(0, highest)


def _offsets(
    order: Sequence[Buffer], alive: Mapping[Buffer, _Lifetime], stretch: int
) -> tuple[dict[Buffer, int], int]:
    """Put each buffer, in this order, into the lowest gap among those alive at the same time.

    Returns the offsets, and the end of the last buffer. A buffer that lives for a few steps is
    compared with those of its own stretches of steps only.
    """
    offsets: dict[Buffer, int] = {}
    placed: list[_Span] = []
    stretches: defaultdict[int, list[_Span]] = defaultdict(list)
    for buffer in order:
        first, last = alive[buffer]
        own = [stretches[at] for at in range(first // stretch, last // stretch + 1)]
        size, position = _takes(buffer), 0
        for begin, end, since, until in merge(*own) if len(own) <= 2 else placed:
            if since <= last and first <= until:
                if position + size <= begin:
                    break
                position = max(position, end)
        offsets[buffer] = position
        for spans in (placed, *own):
            insort(spans, (position, position + size, first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)
