"""Loop and Scan: a body of operators that is computed once for each iteration.

    %y = onnx.Loop(%count, %going, %x, %w) ({
    ^bb0(%i, %g, %x1, %w1):
      %z = onnx.MatMul(%x1, %w1)
      onnx.Yield(%g, %z)
    }) {carried = 1}

All that a body reads is an operand: the last arguments are what every iteration sees alike. Where
shapes are inferred, an iteration is written in front of its loop, with constants for all that is
known in it, and the loop goes on behind it: the condition may follow from these constants. So no
pass sees a loop. (A loop at run time would need memory that iterations hand on. It would pay for
many iterations only, and the networks that people export have few.)

If only the run knows the condition, it chooses between the values of an iteration and those before
it, up to the count. Without a count such a loop is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType, UnrankedTensorType
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.irdl import IRDLOperation, base, irdl_op_definition, lazy_traits_def, var_operand_def
from xdsl.traits import HasParent, IsTerminator

from ncc.dialects.ncnn.layer import Expansion, Layer, shape_of
from ncc.dialects.onnx.attribute import integer, integers
from ncc.dialects.onnx.control import IfOp
from ncc.dialects.onnx.gather import GatherOp
from ncc.dialects.onnx.movement import ConcatOp, UnsqueezeOp
from ncc.dialects.onnx.operator import (
    ConstantOp,
    LayerError,
    NotYet,
    Operator,
    Shape,
    axis_of,
    constant_of,
    operator,
    sources_of,
)
from ncc.dialects.onnx.plumbing import IdentityOp
from ncc.dialects.operation import operands_of, ops_of

MOST_OPERATORS = 1 << 14
"""Operators that the iterations of a loop become, at most."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """What one iteration makes."""

    name = "onnx.Yield"

    values = var_operand_def(base(TensorType) | base(UnrankedTensorType))

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(LoopOp, ScanOp)))
    assembly_format = "`(` $values `)` attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


class Repeated(Operator):
    """What Loop and Scan share."""

    REGIONS = ("body",)
    INTERNAL = ("own", "iteration")
    LEAST: ClassVar[int] = 0
    """The number of operands that the body is given values for, at least."""

    own = integer(0)
    """The number of operands before those that all iterations see."""

    @classmethod
    def results_of(cls, yielded: int) -> int:
        """The number of results where the body makes so many values."""
        return yielded

    def folded(self) -> None:
        """Nothing: what is known becomes `expanded`."""
        return None

    @property
    def body(self) -> Region:
        """What one iteration is."""
        return self.regions[0]

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def inner(self) -> Sequence[Layer]:
        """The operators of one iteration."""
        return [op for op in ops_of(self.block) if isinstance(op, Layer)]

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """What one iteration makes."""
        last = self.block.last_op
        return () if last is None else operands_of(last)

    def infer(self, *operands: Shape | None) -> list[Shape]:
        raise AssertionError(f"{self.name} is expanded")

    def once(self, given: Sequence[SSAValue], iteration: int) -> tuple[list[Layer], list[SSAValue]]:
        """The operators of an iteration, and what it makes of what it is given."""
        values = dict[SSAValue, SSAValue](zip(self.block.args, given, strict=True))
        made: list[Layer] = []
        for op in self.inner:
            copy = op.clone(values)
            path = "/".join((self.layer_name, str(iteration), op.layer_name))
            copy.attributes["layer"] = StringAttr(path)
            copy.attributes["blobs"] = ArrayAttr([StringAttr("")] * len(op.results))
            made.append(copy)
        return made, [values.get(value, value) for value in self.yielded]

    def check_length(self, iterations: int) -> None:
        """Raise `NotYet` where all iterations are too many operators."""
        if iterations * len(self.inner) > MOST_OPERATORS:
            raise NotYet(
                f"{self.type_name} of {iterations} iterations of {len(self.inner)} operators",
                how=f"its iterations may have {MOST_OPERATORS} operators together",
            )


@operator("Loop", inputs=(0, None), outputs=(1, None))
class LoopOp(Repeated):
    """Carried values from iteration to iteration; then a part of each iteration, along a new axis.

    Operands: the count, the condition, the carried values, what all iterations see, and the parts
    that were made so far. The body is given its number, the condition, the carried values and what
    all see; it makes the condition, the carried values, and parts.
    """

    SETTLES = (0, 1)
    LEAST = 2

    iteration = integer(0)
    """The number of the next iteration."""

    @classmethod
    def results_of(cls, yielded: int) -> int:
        return yielded - 1

    @property
    def carried(self) -> int:
        """The number of carried values."""
        return self.own - 2

    def check(self) -> None:
        if len(self.results) < self.carried:
            raise LayerError("its body makes fewer values than it carries")

    @property
    def count(self) -> int | None:
        """The most iterations; None where there is no limit."""
        return None if self.operand_at(0) is None else int(self.constant(0).reshape(()))

    @property
    def groups(self) -> tuple[list[SSAValue], list[SSAValue], list[SSAValue]]:
        """The carried values, what all iterations see, and the parts made so far."""
        held = zip(self.places, self.operands, strict=True)
        values = [value for place, value in held if place >= 2]
        seen = len(self.block.args) - 2
        return values[: self.carried], values[self.carried : seen], values[seen:]

    def expanded(self) -> Expansion:
        """The next iteration and the loop behind it; the results where there is none."""
        count, condition = self.count, self.operand_at(1)
        if count is not None and self.iteration >= count:
            return self._results()
        if condition is None:
            always = ConstantOp.of(np.array(True), "", "")
            return self._peeled([always], always.results[0], count)
        known = constant_of(condition)
        if known is None:
            self._check_unknown(condition, count)
        elif not known.reshape(()):
            return self._results()
        return self._peeled([], condition, count)

    def _check_unknown(self, condition: SSAValue, count: int | None) -> None:
        """Raise `NotYet` where a condition that only the run knows decides too much."""
        way = " <- ".join(sources_of(condition))
        unknown = f"a condition that only the run knows: {way}"
        if count is None:
            raise NotYet(f"Loop without a count and with {unknown}", "give the loop a count")
        if len(self.results) > self.carried:
            how = "carry values of one shape instead of outputs that grow"
            raise NotYet(f"Loop with outputs that grow and {unknown}", how)

    def _peeled(self, before: list[Layer], condition: SSAValue, count: int | None) -> Expansion:
        """An iteration, or all where their number is known, and the loop of the others; behind
        some operators.
        """
        known, ops = constant_of(condition) is not None, before
        several = 1
        if count is not None and (self._keeps_condition or not known):
            self.check_length(count)
            several = count - self.iteration if known else 1
        self.check_length(self.iteration + several)
        carried, seen, parts = self.groups
        for iteration in range(self.iteration, self.iteration + several):
            number = ConstantOp.of(np.array(iteration, np.int64), "", "")
            given = [number.results[0], condition, *carried, *seen]
            made, (going, *new) = self.once(given, iteration)
            ops += [number, *made]
            parts += new[self.carried :]
            new = [going, *new[: self.carried]]
            if not known:
                operands = [condition, *new, condition, *carried]
                taken = IfOp.make(operands, name=self.layer_name, blobs=[""] * len(new))
                ops.append(taken)
                new = list(taken.results)
            condition, *carried = new
        behind = self._behind([condition, *carried, *seen, *parts], several)
        return [*ops, behind], list(behind.results)

    @property
    def _keeps_condition(self) -> bool:
        """Whether each iteration hands on the condition that it is given, or one from outside."""
        value = self.yielded[0]
        while isinstance(value.owner, IdentityOp):
            value = value.owner.operands[0]
        return isinstance(value, BlockArgument)

    def _behind(self, operands: Sequence[SSAValue], written: int) -> LoopOp:
        """The loop behind some iterations. operands: all but the count."""
        limit = [self.operands[0]] if self.operand_at(0) is not None else []
        loop = LoopOp.make(
            [*limit, *operands],
            {"own": self.own, "iteration": self.iteration + written},
            name=self.layer_name,
            blobs=self.blob_names,
        )
        first = 1 - len(limit)
        loop.leave_out(range(first, first + len(loop.operands)))
        loop.add_region(self.detach_region(0))
        return loop

    def _results(self) -> Expansion:
        """The carried values, and all parts one after the other."""
        carried, _, parts = self.groups
        grown = len(self.results) - self.carried
        if grown and not parts:
            raise NotYet("Loop without an iteration, whose outputs have no elements")
        ops: list[Layer] = []
        for place, name in enumerate(self.blob_names[self.carried :]):
            more, value = _stacked(parts[place::grown], 0, self.layer_name, name)
            ops += more
            carried.append(value)
        return ops, carried


@operator("Scan", since=9, inputs=(1, None), outputs=(1, None))
class ScanOp(Repeated):
    """States from iteration to iteration; then a part of each iteration, along an axis.

    Operands: the states, the values whose slices along an axis the iterations are given, and what
    all iterations see. The body is given the same, slices instead of whole values; it makes the
    states and the parts.
    """

    num_scan_inputs = integer(1)
    scan_input_axes = integers(())
    scan_input_directions = integers(())
    scan_output_axes = integers(())
    scan_output_directions = integers(())

    @property
    def states(self) -> int:
        """The number of states."""
        return self.own - self.num_scan_inputs

    def check(self) -> None:
        if not 1 <= self.num_scan_inputs <= self.own:
            raise LayerError(f"num_scan_inputs is {self.num_scan_inputs}", "num_scan_inputs")
        if len(self.results) < self.states:
            raise LayerError("its body makes fewer values than it has states")
        grown = len(self.results) - self.states
        for name, most in (
            ("scan_input_axes", self.num_scan_inputs),
            ("scan_input_directions", self.num_scan_inputs),
            ("scan_output_axes", grown),
            ("scan_output_directions", grown),
        ):
            if len(getattr(self, name)) not in (0, most):
                raise LayerError(f"it has {len(getattr(self, name))} {name}, not {most}", name)

    def expanded(self) -> Expansion:
        """All iterations."""
        behind = self.states + self.num_scan_inputs
        states, seen = list(self.operands[: self.states]), self.operands[behind:]
        whole = self.operands[self.states : behind]
        axes = self.scan_input_axes or (0,) * len(whole)
        length = self._length(whole, axes)
        self.check_length(length)
        ops: list[Layer] = []
        parts: list[list[SSAValue]] = []
        for iteration in range(length):
            slices = []
            for place, (value, axis) in enumerate(zip(whole, axes, strict=True)):
                backwards = _is_backwards(self.scan_input_directions, place)
                at = length - 1 - iteration if backwards else iteration
                number = ConstantOp.of(np.array(at, np.int64), "", "")
                operands = [value, number.results[0]]
                part = GatherOp.make(operands, {"axis": axis}, name=self.layer_name)
                ops += [number, part]
                slices.append(part.results[0])
            made, values = self.once([*states, *slices, *seen], iteration)
            ops += made
            states = values[: self.states]
            parts.append(values[self.states :])
        return self._with_parts(ops, states, parts)

    def _length(self, whole: Sequence[SSAValue], axes: Sequence[int]) -> int:
        """The number of iterations."""
        shapes = [shape_of(value) or () for value in whole]
        lengths = {
            int(shape[axis_of(axis, len(shape))]) for shape, axis in zip(shapes, axes, strict=True)
        }
        if len(lengths) != 1:
            raise LayerError(f"it scans values of {sorted(lengths)} slices")
        return lengths.pop()

    def _with_parts(
        self, ops: list[Layer], states: list[SSAValue], parts: list[list[SSAValue]]
    ) -> Expansion:
        """The operators, the last states and all parts one after the other."""
        for place, name in enumerate(self.blob_names[self.states :]):
            of_place = [made[place] for made in parts]
            if _is_backwards(self.scan_output_directions, place):
                of_place.reverse()
            axis = self.scan_output_axes[place] if self.scan_output_axes else 0
            more, value = _stacked(of_place, axis, self.layer_name, name)
            ops += more
            states.append(value)
        return ops, states


def _is_backwards(directions: Sequence[int], place: int) -> bool:
    return bool(directions and directions[place])


def _stacked(
    values: Sequence[SSAValue], axis: int, name: str, blob: str
) -> tuple[list[Layer], SSAValue]:
    """Values of one shape one after the other along a new axis."""
    where = ConstantOp.of(np.array([axis], np.int64), "", "")
    longer = [UnsqueezeOp.make([value, where.results[0]], name=name) for value in values]
    whole = ConcatOp.make(
        [one.results[0] for one in longer], {"axis": axis}, name=name, blobs=[blob]
    )
    return [where, *longer, whole], whole.results[0]
