"""The static memory plan: steps in order, and an offset in one arena for every root.

A step is a kernel's call or the frame of a padded value: the border cells that its producer does
not write. A root lives from the first step that writes it to the last that reads it; large scratch
memory of a kernel is a root that lives for one step. Offsets are given root by root, the largest
first, at the lowest gap among the roots alive at the same time.

Needs: an outlined network (`fuse-groups`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import TypeAlias

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.fuse import network_of
from ncc.compiler.linalg.move_up import move_up
from ncc.compiler.linalg.place import Placement, callee_of, contiguous, element_bytes
from ncc.compiler.linalg.view import pad_value, shape_of
from ncc.compiler.plan import Call, Frame, Kind, Place, Plan, Root, touched
from ncc.dialects.code import CodeOp

ALIGNMENT = 64

LARGEST_ON_STACK = 16384
"""Bytes of one piece of scratch memory."""

TRIES = 40
"""Orders of roots that are tried. All benchmark networks come to their least arena within 22."""

_Lifetime: TypeAlias = tuple[int, int]
"""The first and the last step that touch a root."""


def plan(module: ModuleOp) -> Plan:
    """Place the values of an outlined network and lay out its memory.

    Copies that placement took are inserted into the module.
    """
    network = network_of(module)
    placement = Placement(module, network)
    steps, memory = move_up(_steps(module, network, placement))
    constants = [root for root in placement.roots if root.kind is Kind.CONSTANT]
    position = 0
    for root in constants:
        root.byte_offset = position
        position += _rounded(root.bytes)
    returned = network.body.block.last_op
    if not isinstance(returned, func.ReturnOp):
        raise CompilerBug("a network without a return")
    outputs = tuple(placement.places[value].root for value in returned.operands)
    return Plan(
        tuple(steps),
        placement.places,
        tuple(constants),
        _lay_out(steps, memory),
        position,
        outputs,
    )


def _steps(module: ModuleOp, network: func.FuncOp, placement: Placement) -> list[Call | Frame]:
    functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, func.FuncOp)}
    steps: list[Call | Frame] = []
    frames = _frames(network, placement)
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
    op = next((op for op in function.body.block.ops if isinstance(op, CodeOp)), None)
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


def _frames(network: func.FuncOp, placement: Placement) -> dict[Root, list[Call | Frame]]:
    """The frames by the root that they are part of: they are written before its first value."""
    frames: dict[Root, list[Call | Frame]] = {}
    for op in network.body.block.ops:
        if isinstance(op, tensor.PadOp):
            place = placement.places[op.result]
            low = tuple(int(n) for n in op.static_low.get_values())
            high = tuple(int(n) for n in op.static_high.get_values())
            frame = Frame(place, shape_of(op.result), low, high, pad_value(op))
            frames.setdefault(place.root, []).append(frame)
    return frames


def _rounded(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def _lay_out(steps: Sequence[Call | Frame], memory: Mapping[Root, Root]) -> int:
    """Give every arena root its offset; the arena's size in bytes.

    memory: roots that go on in that of another one.

    Where the largest-first order leaves more than what is alive at once, the root that ends
    highest goes first in the next try.
    """
    alive: dict[Root, _Lifetime] = {}
    for time, step in enumerate(steps):
        reads, writes = touched(step)
        for touching in (*reads, *writes):
            if touching.kind is Kind.ARENA:
                root = memory.get(touching, touching)
                first, _ = alive.get(root, (time, time))
                alive[root] = (first, time)
    least = _most_alive(alive, len(steps))
    order = sorted(alive, key=lambda root: root.bytes, reverse=True)
    best, size = _offsets(order, alive)
    offsets, tried = best, size
    for _ in range(TRIES):
        if size <= least:
            break
        highest = max(order, key=lambda root: offsets[root] + _rounded(root.bytes))
        order.remove(highest)
        order.insert(0, highest)
        offsets, tried = _offsets(order, alive)
        if tried < size:
            best, size = offsets, tried
    for root, offset in best.items():
        root.byte_offset = offset
    for root, before in memory.items():
        root.byte_offset = before.byte_offset
    return size


def _most_alive(alive: Mapping[Root, _Lifetime], steps: int) -> int:
    """The most bytes that are alive at one step: no arena is smaller."""
    changes = [0] * (steps + 1)
    for root, (first, last) in alive.items():
        changes[first] += _rounded(root.bytes)
        changes[last + 1] -= _rounded(root.bytes)
    return max(accumulate(changes))


def _offsets(order: Sequence[Root], alive: Mapping[Root, _Lifetime]) -> tuple[dict[Root, int], int]:
    """Each root, in this order, at the lowest gap among those alive at the same time; the end."""
    offsets: dict[Root, int] = {}
    placed: list[tuple[int, int, int, int]] = []  # begin, end, first, last: by where they begin
    for root in order:
        first, last = alive[root]
        size, position = _rounded(root.bytes), 0
        for begin, end, since, until in placed:
            if since <= last and first <= until:
                if position + size <= begin:
                    break
                position = max(position, end)
        offsets[root] = position
        insort(placed, (position, position + size, first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)
