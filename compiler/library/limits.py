"""How large open extents may be for all that depends on them to be a number of 64 bits.

A bound of every node of the program is found from those of its operands. The limit is the largest
power of two with which no bound, no sum of all parts of the arena, and no size of an input or an
output is above 2^62.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

from ncc.runtime.artifact import DTYPES, Artifact, Binding
from ncc.runtime.errors import InputError
from ncc.runtime.extents import ANY, OPEN, Range
from ncc.runtime.program import OPERATIONS, Program
from ncc.runtime.sizes import Sizes

MOST = 1 << 62
MOST_BITS = 31
"""Of an extent, whatever it is used for."""

Place: TypeAlias = tuple[int, int]
"""An extent: the place of the input, and the axis."""

Bounds: TypeAlias = tuple[int, int]
"""The least and the most that a number can be."""


def limits(artifact: Artifact) -> dict[Place, Bounds]:
    """The least and the most of each open extent, by the places of the input and of the axis.

    Raises InputError where no extent in a range is small enough.
    """
    for bits in range(MOST_BITS, -1, -1):
        found = _ranges(artifact.inputs, 1 << bits)
        if all(least <= most for least, most in found.values()) and _is_small(artifact, found):
            return found
    raise InputError(
        "a library computes sizes in 64 bits, which are too few for the least of these: give a "
        "number for an extent, like --shape data=3x224x224"
    )


def twins(artifact: Artifact) -> dict[Place, Place]:
    """Open extents that have to equal another one, as conditions say, and have its range: a call
    tells that one for both.
    """
    found: dict[Place, Place] = {}
    for one, other in () if artifact.sizes is None else _equal(artifact.sizes):
        same = found.get(other, other)
        ranges = [range_of(artifact.inputs[place], axis) for place, axis in (one, same)]
        if one not in found.values() and ranges[0] == ranges[1]:
            found[one] = same
    return found


def _equal(sizes: Sizes) -> Iterator[tuple[Place, Place]]:
    """The pairs of extents whose difference has to be 0."""
    program, names = sizes.program, tuple(OPERATIONS)
    known = len(program.extents) + len(program.constants)
    for node, relation in sizes.conditions:
        if relation == "==" and node >= known:
            operation, *nodes = program.code[3 * (node - known) : 3 * (node - known) + 3]
            if names[operation] == "-" and max(nodes) < len(program.extents):
                one, other = (program.extents[n] for n in nodes)
                yield (one.input, one.axis), (other.input, other.axis)


def _ranges(inputs: Sequence[Binding], limit: int) -> dict[Place, Bounds]:
    """The ranges of open extents, none of which ends above a limit."""
    found: dict[Place, Bounds] = {}
    for place, binding in enumerate(inputs):
        for axis, extent in enumerate(binding.shape):
            if extent == OPEN:
                least, most = range_of(binding, axis)
                found[place, axis] = least, limit if most is None else min(most, limit)
    return found


def range_of(binding: Binding, axis: int) -> Range:
    """What an open extent may be."""
    return binding.ranges[axis] if binding.ranges else ANY


def _is_small(artifact: Artifact, ranges: dict[Place, Bounds]) -> bool:
    """Whether all numbers fit."""
    sizes = artifact.sizes
    assert sizes is not None
    bounds = bounds_of(sizes.program, ranges)
    largest = [max(-low, high) for low, high in bounds]
    parts = sum(largest[node] for node in sizes.buffers)
    arrays = [prod(largest[node] for node in nodes) for nodes in sizes.outputs]
    for place, binding in enumerate(artifact.inputs):
        extents = enumerate(binding.shape)
        arrays.append(prod(n if n != OPEN else ranges[place, axis][1] for axis, n in extents))
    return max([*largest, parts, max(DTYPES.values()) * max(arrays)]) <= MOST


def bounds_of(program: Program, ranges: dict[Place, Bounds]) -> list[Bounds]:
    """Bounds of every node, for extents in these ranges."""
    bounds = [ranges[extent.input, extent.axis] for extent in program.extents]
    bounds += [(constant, constant) for constant in program.constants]
    names = tuple(OPERATIONS)
    for operation, a, b in zip(*[iter(program.code)] * 3, strict=True):
        bounds.append(_bounds(names[operation], bounds[a], bounds[b]))
    return bounds


def _bounds(operation: str, a: Bounds, b: Bounds) -> Bounds:
    """Bounds of what an operation makes of two numbers."""
    if operation == "//" and b[0] <= 0:
        most = max(-a[0], a[1])
        return -most, most
    if operation == "-":
        return a[0] - b[1], a[1] - b[0]
    corners = [OPERATIONS[operation](x, y) for x in a for y in b]
    return min(corners), max(corners)
