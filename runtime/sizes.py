"""What the shapes of a call decide, in a model whose shapes are open.

    outputs    the shape of each
    arena      the bytes and the lifetime of each buffer, from which the run lays them out
    numbers    a table of 64-bit integers for the code: offsets, counts, extents of kernels
    conditions what the compiler took for granted: for other shapes the code would be wrong

All of them are nodes of one program (`program.py`). `Sizes` holds for every call, `Sized` is for
one set of shapes.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ncc.runtime.arena import Lifetimes
from ncc.runtime.extents import Shape
from ncc.runtime.manifest import Fields
from ncc.runtime.program import Condition, Program, read_condition

NOWHERE = -1
"""In place of a buffer of the arena: a number is no offset into one."""

MOST_EPOCHS = 1 << 24
"""Above the epochs of any run."""

Nodes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Sized:
    """What one run needs. outputs: the shape of each, or None for one that is not open. numbers:
    None where nothing depends on shapes.
    """

    arena_bytes: int
    outputs: tuple[Shape | None, ...]
    numbers: array[int] | None = None


class Sizes(NamedTuple):
    """What the shapes of a call decide, by nodes of a program.

    outputs: the extents of each. buffers, lifetimes: the bytes of each buffer of the arena, and
    from which epoch to which it lives. numbers: a node each, and the buffer of the arena whose
    offset is added, or NOWHERE.
    """

    program: Program
    conditions: tuple[Condition, ...]
    outputs: tuple[Nodes, ...]
    buffers: Nodes
    lifetimes: Lifetimes
    numbers: tuple[tuple[int, int], ...]

    def at(self, shapes: Sequence[Shape]) -> Sized | str:
        """What a run with inputs of these shapes needs; or the condition that does not hold."""
        values = self.program.values(shapes)
        for condition in self.conditions:
            if not condition.holds(values[condition.node]):
                return self.program.text(condition)
        outputs = tuple(tuple(values[node] for node in nodes) for nodes in self.outputs)
        offsets, bytes = self.lifetimes.laid_out([values[node] for node in self.buffers])
        offsets.append(0)  # what NOWHERE leads to
        numbers = [values[node] + offsets[buffer] for node, buffer in self.numbers]
        return Sized(bytes, outputs, array("q", numbers))

    def as_json(self) -> dict[str, Any]:
        """The same for a file."""
        return {
            **self.program.as_json(),
            "conditions": [[one.node, one.relation] for one in self.conditions],
            "outputs": self.outputs,
            "buffers": [
                [node, *epochs]
                for node, epochs in zip(self.buffers, self.lifetimes.epochs, strict=True)
            ],
            "numbers": self.numbers,
        }

    @staticmethod
    def read(fields: Fields, inputs: Sequence[int], outputs: Sequence[int]) -> Sizes:
        """The sizes of a file. inputs, outputs: how many axes each has."""
        program = Program.read(fields, inputs)
        conditions = tuple(
            read_condition(row, program, fields.broken) for row in fields.rows("conditions", 2)
        )
        buffers, numbers = fields.rows("buffers", 3), fields.rows("numbers", 2)
        shapes = fields.rows("outputs", None)
        nodes = [node for shape in shapes for node in shape]
        nodes += [node for node, *_ in (*buffers, *numbers)]
        others = [place for _, *places in (*buffers, *numbers) for place in places]
        if not all(type(place) is int for place in (*nodes, *others)):
            raise fields.broken("sizes in the manifest are not numbers")
        if not all(0 <= node < program.nodes for node in nodes):
            raise fields.broken("sizes in the manifest need a node that is not there")
        if not all(0 <= first <= last < MOST_EPOCHS for _, first, last in buffers):
            raise fields.broken("a lifetime in the manifest is impossible")
        if not all(NOWHERE <= buffer < len(buffers) for _, buffer in numbers):
            raise fields.broken("a number in the manifest is in a buffer that is not there")
        if [len(shape) for shape in shapes] != list(outputs):
            raise fields.broken("sizes in the manifest are those of other outputs")
        return Sizes(
            program,
            conditions,
            tuple(map(tuple, shapes)),
            tuple(node for node, *_ in buffers),
            Lifetimes(tuple((first, last) for _, first, last in buffers)),
            tuple((node, buffer) for node, buffer in numbers),
        )
