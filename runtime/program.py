"""Integers that the shapes of the inputs decide, as a program that computes them for each call.

    extents    data's axis 1, data's axis 2         nodes 0, 1
    constants  3, 2                                 nodes 2, 3
    code       node 0 - 3, node 4 // 2, ..          nodes 4, 5, ..

Every instruction makes one node of two earlier ones. A node is computed once, whoever uses it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from ncc.runtime.errors import ArtifactError
from ncc.runtime.extents import Shape
from ncc.runtime.manifest import Fields


def _quotient(dividend: int, divisor: int) -> int:
    """Rounded down. Where the divisor is 0, a condition of the program does not hold."""
    return dividend // divisor if divisor else 0


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": _quotient,
    "min": min,
    "max": max,
}
"""What an instruction can do; a file names them by their place here."""

_FUNCTIONS = tuple(OPERATIONS.values())
_NAMES = tuple(OPERATIONS)
_CALLS = ("min", "max")
"""Operations that are written before what they take; others stand between."""

RELATIONS: dict[str, Callable[[int], bool]] = {
    ">=": lambda value: value >= 0,
    "==": lambda value: value == 0,
    "!=": lambda value: value != 0,
}
"""How a node may have to compare with 0."""

_TURNED = {">=": "<=", "==": "==", "!=": "!="}
"""The same relations with the sides exchanged."""

MOST_SHOWN = 100
"""Characters of a condition that an error shows."""

_TOO_DEEP = ".."
"""In place of an expression in a long one."""


class Extent(NamedTuple):
    """An extent of an input, by the place of the input and of the axis; name: for messages."""

    input: int
    axis: int
    name: str


class Condition(NamedTuple):
    """What must hold of a node for the code to be right."""

    node: int
    relation: str

    def holds(self, value: int) -> bool:
        """Whether it does where the node has this value."""
        return RELATIONS[self.relation](value)


@dataclass(frozen=True)
class Program:
    """How to compute some integers from the extents of the inputs.

    code: triples of an operation (by its place in OPERATIONS) and two earlier nodes.
    """

    extents: tuple[Extent, ...] = ()
    constants: tuple[int, ...] = ()
    code: tuple[int, ...] = ()

    @property
    def nodes(self) -> int:
        """How many integers there are."""
        return len(self.extents) + len(self.constants) + len(self.code) // 3

    @cached_property
    def _instructions(self) -> list[tuple[Callable[[int, int], int], int, int]]:
        triples = zip(*[iter(self.code)] * 3, strict=True)
        return [(_FUNCTIONS[operation], a, b) for operation, a, b in triples]

    def values(self, shapes: Sequence[Shape]) -> list[int]:
        """All integers, by node, for the shapes of all inputs."""
        values = [shapes[extent.input][extent.axis] for extent in self.extents]
        values += self.constants
        append = values.append
        for function, a, b in self._instructions:
            append(function(values[a], values[b]))
        return values

    def text(self, condition: Condition) -> str:
        """A condition for messages. A difference that is compared with 0 is shown as a comparison
        of two expressions: h - 4 >= 0 as h >= 4, and 512 - h >= 0 as h <= 512. Of a long one, the
        extents are named alone.
        """
        node, relation = condition
        instruction = self._instruction(node)
        if instruction is None or _NAMES[instruction[0]] != "-":
            text = f"{self._expression(node)} {relation} 0"
        else:
            _, left, right = instruction
            if 0 <= left - len(self.extents) < len(self.constants):
                left, right, relation = right, left, _TURNED[relation]
            text = f"{self._expression(left)} {relation} {self._expression(right)}"
        if _TOO_DEEP not in text and len(text) <= MOST_SHOWN:
            return text
        return f"a condition on {', '.join(self._names(node))}"

    def _instruction(self, node: int) -> tuple[int, int, int] | None:
        """The operation that makes a node, and the nodes that it takes."""
        at = 3 * (node - len(self.extents) - len(self.constants))
        return (self.code[at], self.code[at + 1], self.code[at + 2]) if at >= 0 else None

    def _expression(self, node: int, room: int = MOST_SHOWN) -> str:
        instruction = self._instruction(node)
        if instruction is None:
            constant = node - len(self.extents)
            return self.extents[node].name if constant < 0 else str(self.constants[constant])
        if room <= 0:
            return _TOO_DEEP
        name, operands = _NAMES[instruction[0]], instruction[1:]
        left, right = (self._expression(operand, room // 2) for operand in operands)
        if name in _CALLS:
            return f"{name}({left}, {right})"
        first, second = map(self._is_between, operands)
        return f"{f'({left})' if first else left} {name} {f'({right})' if second else right}"

    def _is_between(self, node: int) -> bool:
        """Whether the operation that makes a node stands between what it takes."""
        instruction = self._instruction(node)
        return instruction is not None and _NAMES[instruction[0]] not in _CALLS

    def _names(self, node: int) -> list[str]:
        """The extents that a node depends on."""
        needed = [node]
        for one in needed:
            needed += {*(self._instruction(one) or ())[1:]}.difference(needed)
        return [extent.name for place, extent in enumerate(self.extents) if place in needed]

    def as_json(self) -> dict[str, Any]:
        """The program for a file."""
        extents = [[extent.input, extent.axis, extent.name] for extent in self.extents]
        return {"extents": extents, "constants": self.constants, "code": self.code}

    @staticmethod
    def read(fields: Fields, ranks: Sequence[int]) -> Program:
        """The program of a file, for inputs with so many axes."""
        extents = tuple(_extent(row, ranks, fields) for row in fields.rows("extents", 3))
        constants = fields.integers("constants")
        code = fields.numbers("code")
        known = len(extents) + len(constants)
        operations, places = code[::3], (code[1::3], code[2::3])
        if len(code) % 3 or any(operation >= len(OPERATIONS) for operation in operations):
            raise fields.broken("an instruction in the manifest is unknown")
        if any(node >= known + at for nodes in places for at, node in enumerate(nodes)):
            raise fields.broken("an instruction in the manifest needs a later one")
        return Program(extents, constants, code)


def _extent(row: Sequence[object], ranks: Sequence[int], fields: Fields) -> Extent:
    match row:
        case [int() as place, int() as axis, str() as name]:
            if 0 <= place < len(ranks) and 0 <= axis < ranks[place]:
                return Extent(place, axis, name)
    raise fields.broken("an extent in the manifest is none of an input")


def read_condition(row: Sequence[object], program: Program, broken: Broken) -> Condition:
    """A condition of a file."""
    match row:
        case [int() as node, str() as relation]:
            if 0 <= node < program.nodes and relation in RELATIONS:
                return Condition(node, relation)
    raise broken("a condition in the manifest is unknown")


Broken: TypeAlias = Callable[[str], ArtifactError]
