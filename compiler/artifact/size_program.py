"""Writes what depends on the shapes of the inputs as a program for the runtime.

    Part(4 * h * w, 0, 1)  Number(4 * w + 4, part=0)      nodes h, w, 4 | h * w, 4 * 5, ..

Each expression is one node, however often it comes: of what numbers are made is shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import gcd
from typing import NamedTuple

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.plan import Plan
from ncc.dialects.rt import MOST_CHUNKS
from ncc.dialects.shapes import OpenShape
from ncc.dialects.size import Assumption, Size, form_of, is_open, symbol_in
from ncc.dialects.size_atoms import Atom, Extremum, Quotient, Symbol, TileSize
from ncc.dialects.size_form import Form, Monomial
from ncc.runtime.arena import Lifetimes
from ncc.runtime.program import OPERATIONS, Condition, Extent, Program
from ncc.runtime.sizes import NOWHERE, Sizes

_PLACES = {name: place for place, name in enumerate(OPERATIONS)}
_COMMUTATIVE = {"+", "*", "min", "max"}


def symbols_of(inputs: Iterable[OpenShape]) -> dict[Symbol, tuple[int, int]]:
    """The place and the axis of every extent that inputs of these shapes leave open."""
    found: dict[Symbol, tuple[int, int]] = {}
    for place, shape in enumerate(inputs):
        for axis, extent in enumerate(shape):
            symbol = None if extent is None else symbol_in(extent)
            if symbol is not None:
                found.setdefault(symbol, (place, axis))
    return found


def _numbers(opened: Sequence[OpenShape], inputs: Sequence[OpenShape]) -> dict[str, Form]:
    """The number that each extent is that was left open, and is not, by the extent's name."""
    extents = [
        (symbol_in(before), after)
        for shape, settled in zip(opened, inputs, strict=True)
        for before, after in zip(shape, settled, strict=False)
        if before is not None and after is not None
    ]
    return {
        symbol.name: Form.number(number)
        for symbol, number in extents
        if symbol is not None and not is_open(number)
    }


def sizes_of(
    opened: Sequence[OpenShape],
    inputs: Sequence[OpenShape],
    outputs: Sequence[Sequence[int]],
    planned: Plan,
    loops: NetworkLoops,
    assumed: Iterable[Assumption],
) -> Sizes:
    """What the shapes of a call decide.

    opened: the shape of each input, with a size for each extent that was left open. inputs: the
    same, with numbers where layers take one value only: nothing depends on these extents. outputs:
    with expressions of the others.
    """
    numbers = _numbers(opened, inputs)
    extents = symbols_of(opened).items()
    writer = ProgramWriter({one: place for one, place in extents if one.name not in numbers})
    assumed = [replace(one, form=one.form.with_values(numbers)) for one in assumed]
    few = Assumption(form_of(MOST_CHUNKS - 1 - loops.chunks), ">=")
    limits = [few] if is_open(loops.chunks) else []
    conditions = [(one, writer.node(one.form)) for one in needed([*assumed, *limits])]
    shapes = [[writer.number(extent) for extent in shape] for shape in outputs]
    buffers = [writer.number(part.bytes) for part in planned.arena]
    told = [(writer.number(one.value), one.part) for one in loops.numbers]
    return Sizes(
        writer.program(),
        tuple(Condition(writer.place(node), one.relation) for one, node in conditions),
        tuple(tuple(map(writer.place, shape)) for shape in shapes),
        tuple(map(writer.place, buffers)),
        Lifetimes(tuple((part.first, part.last) for part in planned.arena)),
        tuple((writer.place(node), NOWHERE if part is None else part) for node, part in told),
    )


class Node(NamedTuple):
    """A node before the number of constants is known: an extent, a constant or an instruction."""

    kind: int
    number: int


EXTENT, CONSTANT, INSTRUCTION = range(3)


@dataclass
class ProgramWriter:
    """A program that is being written. extents: the place and the axis of every symbol."""

    extents: dict[Symbol, tuple[int, int]]
    _constants: dict[int, Node] = field(default_factory=dict)
    _code: dict[tuple[str, Node, Node], Node] = field(default_factory=dict)
    _forms: dict[Form, Node] = field(default_factory=dict)

    def number(self, value: int) -> Node:
        """The node of a number or of a size."""
        return self.node(value.form) if isinstance(value, Size) else self._constant(int(value))

    def node(self, form: Form) -> Node:
        """The node of an expression."""
        if form not in self._forms:
            self._forms[form] = self._sum(form)
        return self._forms[form]

    def program(self) -> Program:
        """All that has been written."""
        names = list(self.extents)
        extents = tuple(Extent(*self.extents[symbol], symbol.name) for symbol in names)
        code = [
            number
            for operation, a, b in self._code
            for number in (_PLACES[operation], self.place(a), self.place(b))
        ]
        return Program(extents, tuple(self._constants), tuple(code))

    def place(self, node: Node) -> int:
        """The number of a node in the program, once all is written."""
        begins = 0, len(self.extents), len(self.extents) + len(self._constants)
        return begins[node.kind] + node.number

    def _constant(self, value: int) -> Node:
        return self._constants.setdefault(value, Node(CONSTANT, len(self._constants)))

    def _instruction(self, operation: str, a: Node, b: Node) -> Node:
        if operation in _COMMUTATIVE and (b.kind, b.number) < (a.kind, a.number):
            a, b = b, a
        return self._code.setdefault((operation, a, b), Node(INSTRUCTION, len(self._code)))

    def _sum(self, form: Form) -> Node:
        """The terms that are added, then those that are taken away."""
        added = [self._term(monomial, factor) for monomial, factor in form.terms if factor > 0]
        less = [self._term(monomial, -factor) for monomial, factor in form.terms if factor < 0]
        total = reduce(lambda a, b: self._instruction("+", a, b), added or [self._constant(0)])
        return reduce(lambda a, b: self._instruction("-", a, b), less, total)

    def _term(self, monomial: Monomial, factor: int) -> Node:
        """A product; its factor comes last, so that sums of other multiples share the rest."""
        if not monomial:
            return self._constant(factor)
        whole = reduce(lambda a, b: self._instruction("*", a, b), map(self._atom, monomial))
        return whole if factor == 1 else self._instruction("*", whole, self._constant(factor))

    def _atom(self, atom: Atom) -> Node:
        match atom:
            case Symbol():
                if atom not in self.extents:
                    raise CompilerBug(f"{atom.name} is no extent of an input")
                return Node(EXTENT, list(self.extents).index(atom))
            case Quotient():
                return self._instruction("//", self.node(atom.dividend), self.node(atom.divisor))
            case Extremum():
                nodes = map(self.node, atom.forms)
                return reduce(lambda a, b: self._instruction(atom.name, a, b), nodes)
            case TileSize():
                raise CompilerBug("the size of a tile outside of its loop")


def needed(assumed: Iterable[Assumption]) -> Iterator[Assumption]:
    """The assumptions without those that another one implies: 2*h - 9 >= 0 does h - 1 >= 0."""
    least: dict[Form, Assumption] = {}
    others: dict[Assumption, None] = {}
    for one in assumed:
        if one.form.constant is not None:
            continue  # it holds for the hint, and so for all inputs
        if one.relation != ">=":
            others.setdefault(one)
            continue
        part, number = _normalized(one.form)
        strictest = Assumption(part.plus(Form.number(number)), ">=")
        before = least.get(part)
        if before is None or dict(before.form.terms).get((), 0) > number:
            least[part] = strictest
    yield from least.values()
    yield from others


def _normalized(form: Form) -> tuple[Form, int]:
    """What is not constant, over what divides it, and the constant, rounded down: both together are
    not negative where the form is not.
    """
    terms = dict(form.terms)
    number = terms.pop((), 0)
    divisor = reduce(gcd, map(abs, terms.values()), 0) or 1
    return Form.of({atoms: factor // divisor for atoms, factor in terms.items()}), number // divisor
