"""The steps of a sequence, one after the other, as statements.

The inputs' parts of the gates are known for all steps. A step adds the state's part, a product of a
vector and a matrix whose columns are the lanes, and lets the cell compute the next state. The
results hold the present states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import f32, i32

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.recurrent.cells import Cell, Numbers, Reset
from ncc.dialects.shapes import Shape
from ncc.dialects.statements import Code, MemoryView, Value

ROWS = 4
"""Rows of a matrix that one pass over the sums adds."""

HELD = 1 << 18
"""The most numbers of a matrix that stay in a second-level cache from step to step."""


class Rule(NamedTuple):
    """How a step computes the next of so many `states`.

    hidden: the extent of the cell. outputs: that of the hidden state. reverse: the last row comes
    first; with two directions, in the second one. held: the most numbers of a matrix that stay in a
    cache from step to step. reset: where the last gate is given the product of a reset state.
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
    """
    directions, samples = operands.weight.shape[0], operands.samples
    rows = (operands.inputs.shape[0], *samples, directions * rule.outputs)
    extents = (rule.outputs, rule.hidden)[: rule.states]
    states = [(directions, *samples, extent) for extent in extents]
    results = [(shape, f32) for shape in (rows, *states)]
    code = Code(operands.given(), results, iterations=directions * prod(samples))
    _Steps(code, rule, operands).write()
    return b.code(code.operation())


class _Steps:
    """The statements of one direction of one sample, an iteration of the code."""

    def __init__(self, code: Code, rule: Rule, operands: RecurrentOperands) -> None:
        self.code, self.rule = code, rule
        directions, _, gates = operands.weight.shape
        self.gates = gates
        self.direction = code.iteration
        self.sample: tuple[Value, ...] = ()
        if operands.samples:
            self.direction = code.iteration % directions
            self.sample = (code.iteration // directions,)
        self.backwards: Value | int = self.direction if directions == 2 else int(rule.reverse)
        memories = dict(zip(operands.given(), code.inputs, strict=True))

        def own(tensor: Tensor, *sample: Value) -> MemoryView:
            return memories[tensor].part(self.direction, *sample)

        self.inputs = code.inputs[0]
        self.weight, self.bias = own(operands.weight), own(operands.bias)
        self.counts = None if operands.counts is None else own(operands.counts)
        self.projection = None if operands.projection is None else own(operands.projection)
        self.first = [own(state, *self.sample) for state in operands.states]
        self.rows = code.results[0]
        self.state = [state.part(self.direction, *self.sample) for state in code.results[1:]]
        self.seen = [*self.state, *(own(weights) for weights in operands.peepholes)]
        self.sums = code.scratch((gates,), f32 if self.counts is None else i32)
        self.cell_output = self.state[0]
        if self.projection is not None:
            self.cell_output = code.scratch((rule.hidden,))
        self.reset_state = None if rule.reset is None else code.scratch((rule.hidden,))
        self.pairs = None if self.counts is None else _Pairs(code, self.weight.shape[0])

    def write(self) -> None:
        steps = self.rows.shape[0]
        for k, state in enumerate(self.state):
            _set(self.code, state, self.first[k] if self.first else 0.0)
        with self.code.range(steps) as step:
            self._step(step + (steps - 1 - step * 2) * self.backwards, step % 2)

    def _step(self, t: Value, odd: Value) -> None:
        code, hidden, outputs = self.code, self.rule.hidden, self.rule.outputs
        inputs, row = (memory.part(t, *self.sample) for memory in (self.inputs, self.rows))

        def given(j: Value) -> Numbers:
            return lambda gate: inputs[self.direction * self.gates + gate * hidden + j]

        counts = self._recurrent(odd, given)
        with code.lanes(hidden) as j:
            new = self.rule.cell(code, given(j), self._given(j, counts), lambda k: self.seen[k][j])
            for memory, value in zip([self.cell_output, *self.state[1:]], new, strict=True):
                memory[j] = value
            if self.projection is None:
                row[self.direction * outputs + j] = new[0]
        if self.projection is not None:
            _set(code, self.state[0], 0.0)
            add_product(code, self.state[0], self.cell_output, self.projection)
            with code.lanes(outputs) as j:
                row[self.direction * outputs + j] = self.state[0][j]

    def _given(self, j: Value, counts: Value | None = None) -> Numbers:
        """What the hidden state gives to the gates of an element."""

        def recurrent(gate: int) -> Value:
            place = j + gate * self.rule.hidden
            if self.counts is None or counts is None:
                return self.sums[place]
            sums = self.code.convert(self.sums[place], f32)
            return self.bias[place] + sums * (counts * self.counts[place])

        return recurrent

    def _recurrent(self, odd: Value, given: Callable[[Value], Numbers]) -> Value | None:
        """Set the sums to the recurrent parts of the gates; for int8, returns the value of 1 in the
        state.

        Every other step reads a large matrix backwards, since its end is still in a cache.
        """
        code, state, (rows, columns) = self.code, self.state[0], self.weight.shape
        fro = odd if rows * columns > self.rule.held else 0
        if self.pairs is not None:
            counts = self.pairs.quantize(state)
            _set(code, self.sums, 0)
            add_product(code, self.sums, self.pairs.values, self.weight, fro)
            return counts
        _set(code, self.sums, self.bias)
        if self.reset_state is None or self.rule.reset is None:
            add_product(code, self.sums, state, self.weight, fro)
            return None
        last = columns - self.rule.hidden
        add_product(code, self.sums, state, self.weight, fro, range(last))
        with code.lanes(self.rule.hidden) as j:
            self.reset_state[j] = self.rule.reset(code, given(j), self._given(j)) * state[j]
        add_product(code, self.sums, self.reset_state, self.weight, fro, range(last, columns))
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
    sums: MemoryView,
    x: MemoryView,
    matrix: MemoryView,
    fro: Value | int = 0,
    some: range | None = None,
) -> None:
    """sums[j] += the sum over k of x[k] * matrix[k, j], float32 or pairs of int8, of all or of some
    columns j.

    It adds some rows of the matrix at a time, so that a sum is not loaded and stored for each row.
    If `fro` is 1, it begins with the last rows.
    """
    rows, columns = matrix.shape
    taken = some or range(columns)
    blocks, rest = divmod(rows, ROWS)

    def take_in(first: Value | int, count: int) -> None:
        factors = [x[first + i] for i in range(count)]
        with code.lanes(taken.stop, taken.start) as j:
            total = sums[j]
            for i, factor in enumerate(factors):
                cell = matrix[first + i, j]
                if sums.element == f32:
                    total = code.multiply_add(factor, cell, total)
                else:
                    total = total + code.dot(factor, cell)
            sums[j] = total

    if blocks:
        with code.range(blocks) as block:
            take_in((block + (blocks - 1 - block * 2) * fro) * ROWS, ROWS)
    if rest:
        take_in(blocks * ROWS, rest)


def _set(code: Code, memory: MemoryView, value: MemoryView | float) -> None:
    with code.lanes(memory.shape[0]) as j:
        memory[j] = value[j] if isinstance(value, MemoryView) else value
