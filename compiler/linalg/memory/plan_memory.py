"""The static memory plan: steps in order, and an offset in one arena for every root.

A step is a kernel's call or the frame of a padded value: the border cells that its producer does
not write. A root lives from the first step that writes it to the last that reads it; large scratch
memory of a kernel is a root that lives for one step. Offsets are given root by root, the largest
first, at the lowest gap among the roots alive at the same time.

Roots of one size with the same frames that follow one another take turns in one place, if the arena
needs no more for it: each thread writes where it wrote before, and a frame that still stands there
is not written again.

Needs: an outlined network (`fuse-groups`).
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from math import prod
from typing import TypeAlias

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.memory.alive import alive_at
from ncc.compiler.linalg.memory.join_pads import join_pads
from ncc.compiler.linalg.memory.move_up import Shared, move_up
from ncc.compiler.linalg.memory.place import Placement, element_bytes
from ncc.compiler.linalg.memory.rounds import in_rounds
from ncc.compiler.linalg.memory.standing_frames import (
    BordersOf,
    borders_of,
    without_standing_frames,
)
from ncc.compiler.linalg.network import callee_of, network_of
from ncc.compiler.linalg.tensors import pad_sides, pad_value
from ncc.compiler.linalg.view import contiguous, shape_of
from ncc.compiler.plan import (
    AnyStep,
    Call,
    Frame,
    Kind,
    Place,
    Plan,
    Root,
    Step,
    frames_of,
    touched,
)
from ncc.compiler.target import AVX512
from ncc.dialects.code import CodeOp
from ncc.dialects.operation import ops_of
from ncc.runtime.artifact import ALIGNMENT

LARGEST_ON_STACK = 16384
"""Bytes of one piece of scratch memory."""

TRIES = 24
"""Orders of roots that are tried behind each first one. Nearly all benchmark networks come to their
least arena within 22 behind the largest-first order, and two more within 13 behind the other one.
"""

NEAR = 8
"""Steps between two roots that take turns: after more, other values have evicted the first."""

NEAR_SHARED = 24
"""As `NEAR`, where threads share steps: another value in between would be shared out differently,
so that cores would write lines that are in other cores' caches."""

STRETCH = 16
"""Steps: more of them hold more roots that are never alive together, fewer cut more lifetimes."""

_Lifetime: TypeAlias = tuple[int, int]
"""The first and the last step that touch a root."""

_Span: TypeAlias = tuple[int, int, int, int]
"""Where a root that has its place begins and ends, and its lifetime."""


def plan(module: ModuleOp, threads: int = 1, cache: int = AVX512.core.l2_bytes) -> Plan:
    """Place the values of an outlined network and lay out its memory.

    Pads of one value become one in the module, and copies that placement took are inserted.
    threads: how many share each step, or rounds of several. cache: bytes of the second level that
    each has.
    """
    network = network_of(module)
    join_pads(network.body.block)
    placement = Placement(module, network)
    single = _steps(module, network, placement)
    borders = borders_of(single)
    single, memory = move_up(single)
    steps = in_rounds(single, memory, threads, cache)
    constants = [root for root in placement.roots if root.kind is Kind.CONSTANT]
    position = 0
    for root in constants:
        root.byte_offset = position
        position += _rounded(root.bytes)
    returned = network.body.block.last_op
    if not isinstance(returned, func.ReturnOp):
        raise CompilerBug("a network without a return")
    outputs = tuple(placement.places[value].root for value in returned.operands)
    near = NEAR if threads == 1 else NEAR_SHARED
    size = _lay_out(steps, memory, borders, near)
    return Plan(
        tuple(without_standing_frames(steps, borders)),
        placement.places,
        tuple(constants),
        size,
        position,
        outputs,
    )


def _steps(module: ModuleOp, network: func.FuncOp, placement: Placement) -> list[Step]:
    functions = {
        f.sym_name.data: f for f in ops_of(module.body.block) if isinstance(f, func.FuncOp)
    }
    steps: list[Step] = []
    frames = frames_of(_frames(network, placement))
    for op in network.body.block.ops:
        if not isinstance(op, func.CallOp):
            continue
        operands = tuple(placement.places[value] for value in op.operands)
        results = tuple(placement.places[value] for value in op.results)
        for result in results:
            steps += frames.pop(result.root, [])
        function = functions[callee_of(op)]
        steps.append(Call(function, operands, results, _layers(op), _scratch(function)))
    if frames:
        raise CompilerBug("a padded value that nobody writes")
    return steps


def _scratch(function: func.FuncOp) -> tuple[Place | None, ...]:
    """Where the scratch memory of a kernel is: on the stack, or in the arena where it is large.

    Turns may run at the same time, so that each has its own on the stack of its thread.
    """
    op = next((op for op in ops_of(function.body.block) if isinstance(op, CodeOp)), None)
    if op is None or op.scratch is None:
        return ()
    places: list[Place | None] = []
    arguments = op.body.block.args[len(op.inputs) + len(op.results) :]
    for argument, kind in zip(arguments, op.scratch, strict=False):
        shape = kind.get_shape()
        root = Root(Kind.ARENA, prod(shape), element_bytes(kind.element_type), 0, argument)
        is_large = op.turns is None and root.bytes > LARGEST_ON_STACK
        places.append(Place(root, 0, contiguous(shape)) if is_large else None)
    return tuple(places)


def _layers(call: func.CallOp) -> tuple[str, ...]:
    held = call.attributes.get("layers")
    names = held.data if isinstance(held, ArrayAttr) else ()
    return tuple(name.data for name in names if isinstance(name, StringAttr))


def _frames(network: func.FuncOp, placement: Placement) -> Iterator[Frame]:
    """The frames of all padded values; each is written before the first value of its root."""
    for op in network.body.block.ops:
        if isinstance(op, tensor.PadOp):
            low, high = map(tuple, pad_sides(op))
            yield Frame(placement.places[op.result], shape_of(op.result), low, high, pad_value(op))


def _rounded(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def _lay_out(steps: Sequence[AnyStep], memory: Shared, borders: BordersOf, near: int) -> int:
    """Give every arena root its offset; the arena's size in bytes.

    memory: roots that go on in that of another one. near: steps between roots that take turns.
    """
    within = _within(memory)
    alive: dict[Root, _Lifetime] = {}
    for time, step in enumerate(steps):
        reads, writes = touched(step)
        for touching in (*reads, *writes):
            if touching.kind is Kind.ARENA:
                root, _ = within.get(touching, (touching, 0))
                first, _ = alive.get(root, (time, time))
                alive[root] = (first, time)
    lives = ((first, last, _rounded(root.bytes)) for root, (first, last) in alive.items())
    bytes_at = alive_at(lives, len(steps))
    least = max(bytes_at, default=0)  # no arena is smaller
    turns, together = _turns(alive, borders, bytes_at, near)
    offsets, size = _least_offsets(together, least)
    if size > least:
        apart, smaller = _least_offsets(alive, least)
        if smaller < size:
            offsets, size, turns = apart, smaller, {root: root for root in alive}
    for root in alive:
        root.byte_offset = offsets[turns[root]]
    for root, (whole, begin) in within.items():
        root.byte_offset = whole.byte_offset + begin
    return size


def _within(memory: Shared) -> dict[Root, tuple[Root, int]]:
    """Of roots that share memory: what is laid out for all of them, and where in it they begin."""
    sharing: dict[Root, dict[Root, int]] = {}
    for root, (first, begin) in memory.items():
        sharing.setdefault(first, {first: 0})[root] = begin
    found: dict[Root, tuple[Root, int]] = {}
    for first, begins in sharing.items():
        low = min(begins.values())
        size = max(begin + root.bytes for root, begin in begins.items()) - low
        whole = first if size == first.bytes else Root(Kind.ARENA, size, 1, 0, first.value)
        found |= {root: (whole, begin - low) for root, begin in begins.items()}
    return found


def _turns(
    alive: Mapping[Root, _Lifetime], borders: BordersOf, bytes_at: list[int], near: int
) -> tuple[dict[Root, Root], dict[Root, _Lifetime]]:
    """The root in whose place each one is, and the lifetimes of these places.

    bytes_at: what is alive at each step, to which is added what is kept between turns.
    """
    most = max(bytes_at, default=0)
    turns: dict[Root, Root] = {}
    together: dict[Root, _Lifetime] = {}
    places: dict[tuple[int, object], Root] = {}
    for root, (first, last) in sorted(alive.items(), key=lambda item: item[1]):
        size, own = _rounded(root.bytes), borders.get(root)
        place = places.get((size, own), root)
        begin, end = together.get(place, (first, first))
        between = range(end + 1, first)
        fits = all(bytes_at[time] + size <= most for time in between)
        if place is root or not end < first <= end + near or not fits:
            turns[root], together[root], places[size, own] = root, (first, last), root
            continue
        turns[root], together[place] = place, (begin, last)
        for time in between:
            bytes_at[time] += size
    return turns, together


def _least_offsets(alive: Mapping[Root, _Lifetime], least: int) -> tuple[dict[Root, int], int]:
    """Offsets with the smallest end that is found; the last try is one that comes to the least."""
    found: list[tuple[dict[Root, int], int]] = []
    for offsets, size in _tries(alive):
        found.append((offsets, size))
        if size <= least:
            break
    return min(found, key=lambda one: one[1])


def _tries(alive: Mapping[Root, _Lifetime]) -> Iterator[tuple[dict[Root, int], int]]:
    """Offsets and their end: with the largest roots first, or those that live to the last; and
    behind either, with the root first that ended highest in the try before.
    """
    for order in (
        sorted(alive, key=lambda root: root.bytes, reverse=True),
        sorted(alive, key=lambda root: alive[root][1], reverse=True),
    ):
        for _ in range(1 + TRIES):
            offsets, size = _offsets(order, alive)
            yield offsets, size
            highest = max(order, key=lambda root: offsets[root] + _rounded(root.bytes))
            order.remove(highest)
            order.insert(0, highest)


def _offsets(order: Sequence[Root], alive: Mapping[Root, _Lifetime]) -> tuple[dict[Root, int], int]:
    """Each root, in this order, at the lowest gap among those alive at the same time; the end.

    A root that lives for a few steps is held against those of its own stretches of steps only.
    """
    offsets: dict[Root, int] = {}
    placed: list[_Span] = []
    stretches: defaultdict[int, list[_Span]] = defaultdict(list)
    for root in order:
        first, last = alive[root]
        own = [stretches[at] for at in range(first // STRETCH, last // STRETCH + 1)]
        size, position = _rounded(root.bytes), 0
        for begin, end, since, until in merge(*own) if len(own) <= 2 else placed:
            if since <= last and first <= until:
                if position + size <= begin:
                    break
                position = max(position, end)
        offsets[root] = position
        for spans in (placed, *own):
            insort(spans, (position, position + size, first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)
