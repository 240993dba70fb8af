"""The steps of a sequence, one after the other, as statements.

The inputs' parts of the gates are known for all steps. A step adds the state's part, a product of a
vector and a matrix whose columns are the lanes, and lets the cell compute the next state. The
results hold the present states.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import f32, i32

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.recurrent.cells import Cell, Numbers, Reset
from ncc.dialects.shapes import Shape
from ncc.dialects.size import is_open
from ncc.dialects.statements import Code, MemoryView, Value

ROWS = 4
"""Rows of a matrix that one pass over the sums adds."""

HELD = 1 << 18
"""The most numbers of a matrix that stay in a second-level cache from step to step."""

SAMPLES = 4
"""Samples that run together, so that a matrix is read once for all."""


class Rule(NamedTuple):
    """How a step computes the next of so many `states`.

    hidden: the extent of the cell. outputs: that of the hidden state. reverse: the last row comes
    first; with two directions, in the second one. held: the most numbers of a matrix that stay in a
    cache from step to step. reset: the gate that resets the hidden state before the product of the
    last gate, if there is one.
    """

    cell: Cell
    hidden: int
    outputs: int
    states: int
    reverse: bool
    held: int = HELD
    reset: Reset | None = None


class RecurrentOperands(NamedTuple):
    """The operands of the steps.

    inputs      (steps, directions * gates)
    weight      (directions, outputs, gates); int8 in pairs if there are `counts`
    bias        (directions, gates), of the recurrent parts
    counts      (directions, gates), the value of 1 in int8 weights
    projection  (directions, hidden, outputs), if the hidden state is not the output of the cell
    states      (directions, outputs), then (directions, hidden); without them all start as zeros
    peepholes   (directions, hidden) each; the cell reads them as states behind its own

    The inputs and states of several samples have an axis more, the second one.
    """

    inputs: Tensor
    weight: Tensor
    bias: Tensor
    counts: Tensor | None
    projection: Tensor | None
    states: Sequence[Tensor]
    peepholes: Sequence[Tensor] = ()

    def given(self) -> list[Tensor]:
        """The operands that are not None."""
        maybe = [self.inputs, self.weight, self.bias, self.counts, self.projection]
        return [*(one for one in maybe if one is not None), *self.states, *self.peepholes]

    @property
    def samples(self) -> Shape:
        """The extent of the axis of samples, if there is one."""
        return self.inputs.shape[1:-1]


def expand_steps(b: Builder, rule: Rule, operands: RecurrentOperands) -> list[Tensor]:
    """The rows of all steps, (steps, directions * outputs), and the last states; those of several
    samples have their axis, too.

    An iteration of the code is a direction of one sample, or of `SAMPLES` where each thread has as
    many. The samples that are left run one by one, with the same bits.
    """
    directions, samples = operands.weight.shape[0], operands.samples
    rows = (operands.inputs.shape[0], *samples, directions * rule.outputs)
    extents = (rule.outputs, rule.hidden)[: rule.states]
    states = [(directions, *samples, extent) for extent in extents]
    results = [(shape, f32) for shape in (rows, *states)]
    count = prod(samples)
    together = SAMPLES if is_open(count) or count >= SAMPLES * b.threads else 1
    code = Code(operands.given(), results, iterations=directions * -(-count // together))
    if not samples:
        _Steps(code, rule, operands, code.iteration, [()]).write()
        return b.code(code.operation())
    direction, first = code.iteration % directions, code.iteration // directions * together
    if together == 1:
        _Steps(code, rule, operands, direction, [(first,)]).write()
        return b.code(code.operation())
    with code.if_(first + together <= count):
        some = [(first + k,) for k in range(together)]
        _Steps(code, rule, operands, direction, some).write()
    with code.if_(first + together > count), code.range(count, first) as sample:
        _Steps(code, rule, operands, direction, [(sample,)]).write()
    return b.code(code.operation())


class _Sample(NamedTuple):
    """A sample of one direction: its place on the axis of samples, if there is one, its states,
    what its cell reads as states, and memory for the sums, the cell's output and the reset state.
    """

    place: tuple[Value, ...]
    state: list[MemoryView]
    seen: list[MemoryView]
    sums: MemoryView
    output: MemoryView
    kept: MemoryView | None

    def state_at(self, j: Value) -> Numbers:
        """The states of an element."""
        return lambda k: self.seen[k][j]


class _Steps:
    """The statements of some samples of one direction."""

    def __init__(
        self,
        code: Code,
        rule: Rule,
        operands: RecurrentOperands,
        direction: Value,
        samples: Sequence[tuple[Value, ...]],
    ) -> None:
        self.code, self.rule, self.direction = code, rule, direction
        directions, _, self.gates = operands.weight.shape
        self.backwards: Value | int = direction if directions == 2 else int(rule.reverse)
        memories = dict(zip(operands.given(), code.inputs, strict=True))

        def own(tensor: Tensor, *place: Value) -> MemoryView:
            return memories[tensor].part(direction, *place)

        self.inputs, self.rows = code.inputs[0], code.results[0]
        self.weight, self.bias = own(operands.weight), own(operands.bias)
        self.counts = None if operands.counts is None else own(operands.counts)
        self.projection = None if operands.projection is None else own(operands.projection)
        self.first = [[own(state, *place) for state in operands.states] for place in samples]
        peepholes = [own(weights) for weights in operands.peepholes]
        self.samples = []
        for place in samples:
            state = [state.part(direction, *place) for state in code.results[1:]]
            sums = code.scratch((self.gates,), f32 if self.counts is None else i32)
            output = state[0] if self.projection is None else code.scratch((rule.hidden,))
            kept = None if rule.reset is None else code.scratch((rule.hidden,))
            self.samples.append(_Sample(place, state, [*state, *peepholes], sums, output, kept))
        self.pairs = None if self.counts is None else _Pairs(code, self.weight.shape[0])

    def write(self) -> None:
        steps = self.rows.shape[0]
        for sample, first in zip(self.samples, self.first, strict=True):
            for k, state in enumerate(sample.state):
                _set(self.code, state, first[k] if first else 0.0)
        with self.code.range(steps) as step:
            self._step(step + (steps - 1 - step * 2) * self.backwards, step % 2)

    def _step(self, t: Value, odd: Value) -> None:
        code, outputs = self.code, self.rule.outputs
        rows = [self.rows.part(t, *sample.place) for sample in self.samples]
        counts = self._recurrent(t, odd)
        with code.lanes(self.rule.hidden) as j:
            for sample, row in zip(self.samples, rows, strict=True):
                x, r = self._x(sample, t, j), self._r(sample, j, counts)
                new = self.rule.cell(code, x, r, sample.state_at(j))
                for memory, value in zip([sample.output, *sample.state[1:]], new, strict=True):
                    memory[j] = value
                if self.projection is None:
                    row[self.direction * outputs + j] = new[0]
        if self.projection is None:
            return
        for sample, row in zip(self.samples, rows, strict=True):
            _set(code, sample.state[0], 0.0)
            add_product(code, [sample.state[0]], [sample.output], self.projection)
            with code.lanes(outputs) as j:
                row[self.direction * outputs + j] = sample.state[0][j]

    def _x(self, sample: _Sample, t: Value, j: Value) -> Numbers:
        """What the input gives to the gates of an element."""
        inputs = self.inputs.part(t, *sample.place)
        return lambda gate: inputs[self.direction * self.gates + gate * self.rule.hidden + j]

    def _r(self, sample: _Sample, j: Value, counts: Value | None = None) -> Numbers:
        """What the hidden state gives to the gates of an element."""

        def recurrent(gate: int) -> Value:
            place = j + gate * self.rule.hidden
            if self.counts is None or counts is None:
                return sample.sums[place]
            sums = self.code.convert(sample.sums[place], f32)
            return self.bias[place] + sums * (counts * self.counts[place])

        return recurrent

    def _recurrent(self, t: Value, odd: Value) -> Value | None:
        """Set the sums to the recurrent parts of the gates; for int8, returns the value of 1 in the
        state.

        Every other step reads a large matrix backwards, since its end is still in a cache.
        """
        code, (rows, columns) = self.code, self.weight.shape
        fro = odd if rows * columns > self.rule.held else 0
        sums = [sample.sums for sample in self.samples]
        states = [sample.state[0] for sample in self.samples]
        if self.pairs is not None:
            counts = self.pairs.quantize(states[0])
            _set(code, sums[0], 0)
            add_product(code, sums, [self.pairs.values], self.weight, fro)
            return counts
        for memory in sums:
            _set(code, memory, self.bias)
        if self.rule.reset is None:
            add_product(code, sums, states, self.weight, fro)
            return None
        last = columns - self.rule.hidden
        add_product(code, sums, states, self.weight, fro, range(last))
        kept = [sample.kept for sample in self.samples if sample.kept is not None]
        with code.lanes(self.rule.hidden) as j:
            for sample, memory in zip(self.samples, kept, strict=True):
                gate = self.rule.reset(code, self._x(sample, t, j), self._r(sample, j))
                memory[j] = gate * sample.state[0][j]
        add_product(code, sums, kept, self.weight, fro, range(last, columns))
        return None


class _Pairs:
    """A hidden state as int8, in pairs of one number of its first half and one of its second."""

    def __init__(self, code: Code, half: int) -> None:
        self.code = code
        self.values = code.scratch((half,), i32)
        self._numbers = code.scratch((2 * half,), i32)
        _set(code, self._numbers, 0)

    def quantize(self, x: MemoryView) -> Value:
        """Quantize x; returns the value of 1 in it."""
        code, (half,) = self.code, self.values.shape
        largest = code.largest(x.shape[0], lambda k: code.absolute(x[k]), 0.0)
        scale = code.select(largest > 0.0, 127.0 / largest, 1.0)
        with code.lanes(x.shape[0]) as k:
            rounded = code.round(x[k] * scale)
            self._numbers[k] = code.convert(code.clamp(rounded, -127.0, 127.0), i32)
        with code.lanes(half) as k:
            self.values[k] = code.pair(self._numbers[k], self._numbers[half + k])
        return 1.0 / scale


def add_product(
    code: Code,
    sums: Sequence[MemoryView],
    xs: Sequence[MemoryView],
    matrix: MemoryView,
    fro: Value | int = 0,
    some: range | None = None,
) -> None:
    """sums[j] += the sum over k of x[k] * matrix[k, j] for each x, float32 or pairs of int8, of all
    or of some columns j.

    It adds some rows of the matrix at a time, so that a sum is not loaded and stored for each row.
    If `fro` is 1, it begins with the last rows.
    """
    rows, columns = matrix.shape
    taken = some or range(columns)
    blocks, rest = divmod(rows, ROWS)

    def take_in(first: Value | int, count: int) -> None:
        factors = [[x[first + i] for x in xs] for i in range(count)]
        with code.lanes(taken.stop, taken.start) as j:
            totals = [memory[j] for memory in sums]
            for i, of_row in enumerate(factors):
                cell = matrix[first + i, j]
                for k, (factor, total) in enumerate(zip(of_row, totals, strict=True)):
                    if sums[k].element == f32:
                        totals[k] = code.multiply_add(factor, cell, total)
                    else:
                        totals[k] = total + code.dot(factor, cell)
            for memory, total in zip(sums, totals, strict=True):
                memory[j] = total

    if blocks:
        with code.range(blocks) as block:
            take_in((block + (blocks - 1 - block * 2) * fro) * ROWS, ROWS)
    if rest:
        take_in(blocks * ROWS, rest)


def _set(code: Code, memory: MemoryView, value: MemoryView | float) -> None:
    with code.lanes(memory.shape[0]) as j:
        memory[j] = value[j] if isinstance(value, MemoryView) else value
