"""The steps of a recurrence whose cell has several parts, which threads share.

    a step:  sums = U h,  h = cell(inputs[t], sums)      one thread after another step by step
        ->   for each part of the elements of the cell, on any thread:
                 the sums of all gates for these elements, then the cell

A part reads the whole hidden state and writes its own elements of the next one. So there are two
hidden states: each step reads one and writes the other. A thread that is not late has the same part
in every step, and finds the weights of this part in its cache. Sums have the order of
`recurrent_steps`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.recurrent.recurrent_steps import RecurrentOperands, Rule, add_product
from ncc.dialects.statements import Code, MemoryView, Value

WORTH_A_THREAD = 1 << 16
"""The fewest weights of a part: a smaller part takes less time than a barrier."""


def parts_of(rule: Rule, directions: int, weights: int, threads: int) -> int:
    """The number of equal parts of a cell with so many weights: one for each thread, if each has
    enough to do.

    Threads already share two directions, and a projection or a reset needs the whole cell: these
    have one part.
    """
    if directions > 1 or rule.hidden != rule.outputs or rule.reset:
        return 1
    most = max(1, min(threads, weights // WORTH_A_THREAD))
    return max(parts for parts in range(1, most + 1) if rule.hidden % parts == 0)


def expand_parted_steps(
    b: Builder, rule: Rule, operands: RecurrentOperands, parts: int
) -> list[Tensor]:
    """Like `expand_steps` for one direction in float32, without projection.

    The weight is (parts, outputs, gates / parts): a part has some elements of each gate.
    """
    steps = operands.inputs.shape[0]
    shapes = [(steps, rule.hidden), *[(1, rule.hidden)] * rule.states, (2, rule.hidden)]
    results = [(shape, f32) for shape in shapes]
    code = Code(operands.given(), results, iterations=parts, steps=steps + 1)
    _PartedSteps(code, rule, operands, parts).write()
    return b.code(code.operation())[:-1]


class _PartedSteps:
    """The statements of one part, an iteration of the code. Step 0 writes the initial states."""

    def __init__(self, code: Code, rule: Rule, operands: RecurrentOperands, parts: int) -> None:
        self.code, self.rule = code, rule
        self.extent = rule.hidden // parts
        self.first_place = code.iteration * self.extent
        memories = dict(zip(operands.given(), code.inputs, strict=True))
        self.inputs = memories[operands.inputs]
        self.weight = memories[operands.weight].part(code.iteration)
        self.bias = memories[operands.bias].part(0)
        self.given = [memories[state].part(0) for state in operands.states]
        self.rows, *states, self.hidden = code.results
        self.states = [state.part(0) for state in states]
        self.gates = self.weight.shape[1] // self.extent
        self.sums = code.scratch((self.gates * self.extent,))

    def write(self) -> None:
        code = self.code
        with code.if_(code.step < 1):
            self._begin()
        with code.if_(code.step > 0):
            self._step(code.step - 1)

    def _begin(self) -> None:
        """Write the given states, or zeros, for the first step."""
        with self.code.lanes(self.extent) as j:
            place = self.first_place + j
            for k, state in enumerate((self.hidden.part(0), *self.states[1:])):
                state[place] = self.given[k][place] if self.given else 0.0

    def _step(self, number: Value) -> None:
        code, steps = self.code, self.rows.shape[0]
        row = steps - 1 - number if self.rule.reverse else number
        odd = number % 2
        before, after = self.hidden.part(odd), self.hidden.part(1 - odd)
        self._add_product(before, odd if self._is_large else 0)
        with code.lanes(self.extent) as j:
            place = self.first_place + j

            def given(gate: int) -> Value:
                return self.inputs[row, place + gate * self.rule.hidden]

            def recurrent(gate: int) -> Value:
                return self.sums[j + gate * self.extent]

            def state(k: int) -> Value:
                return self.states[k][place] if k else before[place]

            new = self.rule.cell(code, given, recurrent, state)
            for memory, value in zip(self.states, new, strict=True):
                memory[place] = value
            after[place] = self.rows[row, place] = new[0]

    @property
    def _is_large(self) -> bool:
        """Whether the weights of all parts exceed a second-level cache: then every other step reads
        them backwards.
        """
        outputs, gates = self.weight.shape
        return outputs * gates * (self.rule.hidden // self.extent) > self.rule.held

    def _add_product(self, x: MemoryView, fro: Value | int) -> None:
        """The sums of this part: its biases, and x times its matrix."""
        code = self.code
        with code.lanes(self.extent) as j:
            for gate in range(self.gates):
                place = self.first_place + j + gate * self.rule.hidden
                self.sums[j + gate * self.extent] = self.bias[place]
        add_product(code, [self.sums], [x], self.weight, fro)
