"""LLVM text that computes what the shapes of a call decide, of a network whose shapes are open.

It does what `ncc.runtime.sizes` and `program` do, with the same numbers:

    fits      whether the code is for inputs with these extents: ranges, then conditions
    outputs   the extents of outputs
    parts     the bytes of each part of the arena, rounded up to lines
    fill      the numbers of a run, once the arena is laid out (`arena.py`)

A program becomes one instruction after another; each function has those that it needs. Extents in
their ranges make no number that 64 bits do not hold (`limits.py`): none of them is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Template

from ncc.compiler.library.limits import Place, twins
from ncc.compiler.library.signature import OpenExtent, Signature
from ncc.runtime.arena import ALIGNMENT
from ncc.runtime.program import OPERATIONS, Program
from ncc.runtime.sizes import NOWHERE, Sizes

_CALLS = {"//": "@quotient", "min": "@llvm.smin.i64", "max": "@llvm.smax.i64"}
_INSTRUCTIONS = {"+": "add", "-": "sub", "*": "mul"}
_COMPARISONS = {">=": "sge", "==": "eq", "!=": "ne"}

_SIZES = """
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; Rounded down; 0 where the divisor is 0.
define internal i64 @quotient(i64 %dividend, i64 %divisor) nounwind {
  %none = icmp eq i64 %divisor, 0
  br i1 %none, label %zero, label %divide
divide:
  %cut = sdiv i64 %dividend, %divisor
  %rest = srem i64 %dividend, %divisor
  %signs = xor i64 %rest, %divisor
  %opposite = icmp slt i64 %signs, 0
  %some = icmp ne i64 %rest, 0
  %above = and i1 %opposite, %some
  %one = zext i1 %above to i64
  %down = sub i64 %cut, %one
  ret i64 %down
zero:
  ret i64 0
}

define internal i1 @fits(ptr %sizes) nounwind {
$ranges
  br i1 %in.range, label %ask, label %no
ask:
$conditions
  ret i1 %holds
no:
  ret i1 0
}

define internal void @outputs(ptr %sizes, ptr %shapes) nounwind {
$outputs
  ret void
}

define internal void @parts(ptr %sizes, ptr %bytes) nounwind {
$parts
  ret void
}

define internal void @fill(ptr %sizes, ptr %offsets, ptr %numbers) nounwind {
$numbers
  ret void
}
"""


def sizes_text(signature: Signature) -> str:
    """The functions for a network."""
    sizes, extents = signature.artifact.sizes, signature.open_extents
    assert sizes is not None
    program = _Program(sizes.program, extents, twins(signature.artifact))
    outputs = zip(signature.artifact.outputs, sizes.outputs, strict=True)
    shapes = [node for output, nodes in outputs if output.is_open for node in nodes]
    return Template(_SIZES).substitute(
        ranges="\n".join(_ranges(extents)),
        conditions="\n".join(program.conditions(sizes)),
        outputs="\n".join(program.stored("shapes", shapes)),
        parts="\n".join(program.rounded("bytes", sizes.buffers)),
        numbers="\n".join(program.numbers(sizes)),
    )


def _ranges(extents: Sequence[OpenExtent]) -> Iterator[str]:
    """Whether all extents are in their ranges, as %in.range."""
    last = "true"
    for n, extent in enumerate(extents):
        yield f"  %extent{n}.at = getelementptr i64, ptr %sizes, i64 {n}"
        yield f"  %extent{n} = load i64, ptr %extent{n}.at, align 8"
        yield f"  %enough{n} = icmp sge i64 %extent{n}, {extent.least}"
        yield f"  %few{n} = icmp sle i64 %extent{n}, {extent.most}"
        yield f"  %between{n} = and i1 %enough{n}, %few{n}"
        yield f"  %so.far{n} = and i1 {last}, %between{n}"
        last = f"%so.far{n}"
    yield f"  %in.range = and i1 {last}, true"


class _Program:
    """The instructions of a program. A node is `%node7`, or a constant."""

    def __init__(
        self, program: Program, extents: Sequence[OpenExtent], same: Mapping[Place, Place]
    ) -> None:
        self.program = program
        places = {(extent.input, extent.axis): n for n, extent in enumerate(extents)}
        told = ((one.input, one.axis) for one in program.extents)
        self.places = [places[same.get(one, one)] for one in told]
        self.known = len(program.extents) + len(program.constants)

    def conditions(self, sizes: Sizes) -> Iterator[str]:
        """Whether all conditions hold, as %holds."""
        yield from self._computed(one.node for one in sizes.conditions)
        last = "true"
        for n, one in enumerate(sizes.conditions):
            compare = f"icmp {_COMPARISONS[one.relation]} i64 {self._value(one.node)}, 0"
            yield f"  %condition{n} = {compare}"
            yield f"  %all{n} = and i1 {last}, %condition{n}"
            last = f"%all{n}"
        yield f"  %holds = and i1 {last}, true"

    def stored(self, to: str, nodes: Sequence[int]) -> Iterator[str]:
        """Store some nodes, side by side."""
        yield from self._computed(nodes)
        for n, node in enumerate(nodes):
            yield from _store(to, n, self._value(node))

    def rounded(self, to: str, nodes: Sequence[int]) -> Iterator[str]:
        """The same, up to multiples of a line."""
        yield from self._computed(nodes)
        for n, node in enumerate(nodes):
            yield f"  %more{n} = add i64 {self._value(node)}, {ALIGNMENT - 1}"
            yield f"  %lines{n} = and i64 %more{n}, {-ALIGNMENT}"
            yield from _store(to, n, f"%lines{n}")

    def numbers(self, sizes: Sizes) -> Iterator[str]:
        """Store the numbers: nodes, some of them with the offset of a part."""
        yield from self._computed(node for node, _ in sizes.numbers)
        for part in sorted({part for _, part in sizes.numbers} - {NOWHERE}):
            yield f"  %offset{part}.at = getelementptr i64, ptr %offsets, i64 {part}"
            yield f"  %offset{part} = load i64, ptr %offset{part}.at, align 8"
        for n, (node, part) in enumerate(sizes.numbers):
            value = self._value(node)
            if part != NOWHERE:
                yield f"  %placed{n} = add i64 {value}, %offset{part}"
                value = f"%placed{n}"
            yield from _store("numbers", n, value)

    def _computed(self, nodes: Iterable[int]) -> Iterator[str]:
        """All that these nodes are made of."""
        needed, left = set[int](), list(nodes)
        while left:
            node = left.pop()
            if node not in needed:
                needed.add(node)
                left += self._operands(node)
        for node in sorted(needed):
            if node < len(self.places):
                place = self.places[node]
                yield f"  %node{node}.at = getelementptr i64, ptr %sizes, i64 {place}"
                yield f"  %node{node} = load i64, ptr %node{node}.at, align 8"
            elif node >= self.known:
                yield f"  %node{node} = {self._instruction(node)}"

    def _operands(self, node: int) -> Sequence[int]:
        at = 3 * (node - self.known)
        return self.program.code[at + 1 : at + 3] if at >= 0 else ()

    def _instruction(self, node: int) -> str:
        name = tuple(OPERATIONS)[self.program.code[3 * (node - self.known)]]
        a, b = map(self._value, self._operands(node))
        if name in _CALLS:
            return f"call i64 {_CALLS[name]}(i64 {a}, i64 {b})"
        return f"{_INSTRUCTIONS[name]} i64 {a}, {b}"

    def _value(self, node: int) -> str:
        if len(self.places) <= node < self.known:
            return str(self.program.constants[node - len(self.places)])
        return f"%node{node}"


def _store(to: str, n: int, value: str) -> Iterator[str]:
    yield f"  %{to}{n}.at = getelementptr i64, ptr %{to}, i64 {n}"
    yield f"  store i64 {value}, ptr %{to}{n}.at, align 8"
