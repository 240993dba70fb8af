"""Control flow: everything is computed, since operators have no effects, and one result is taken.

The reader puts the nodes of both branches in front of an If, which chooses among their results.
Nodes that only the other branch needs are left out where the condition is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ncc.dialects.element import name_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    NotYet,
    Operator,
    Shape,
    constant_of,
    operator,
    sources_of,
)
from ncc.dialects.scalar import select
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal


@operator("If", inputs=(3, None), outputs=(1, None))
class IfOp(Operator):
    """The results of one branch, or those of the other: (condition, then..., else...)."""

    SETTLES = (0,)

    def check(self) -> None:
        if len(self.operands) != 1 + 2 * len(self.results):
            raise LayerError("its branches have other numbers of results")

    def folded(self) -> Sequence[Layer | SSAValue] | None:
        """The results of the branch that is taken, where the condition is known."""
        condition = constant_of(self.operands[0])
        if condition is None:
            return None
        if condition.size != 1:
            raise LayerError(f"the condition has {condition.size} elements")
        count = len(self.results)
        first = 1 if condition.reshape(()) else 1 + count
        return list(self.operands[first : first + count])

    def undecided(self) -> NotYet:
        """What to say where a branch cannot be computed, and nobody knows whether it is taken."""
        way = " <- ".join(sources_of(self.operands[0]))
        return NotYet(
            f"a condition that only the run knows, {way}, before a branch that does not fit"
        )

    def _branches(self, values: Sequence[Shape]) -> list[tuple[Shape, Shape]]:
        count = len(values) // 2
        return list(zip(values[:count], values[count:], strict=True))

    def infer(self, condition: Shape, *values: Shape) -> list[Shape]:
        for yes, no in self._branches(values):
            if not are_equal(yes, no):
                shapes = f"{shown(yes)} and {shown(no)}"
                raise NotYet(f"a condition that only the run knows, for results {shapes}")
        return list(values[: len(values) // 2])

    def element_types(self, *operands: Attribute) -> Sequence[Attribute]:
        if operands[0] != i1:
            raise LayerError("the condition is no truth value")
        count = len(self.results)
        for yes, no in zip(operands[1 : 1 + count], operands[1 + count :], strict=True):
            if yes != no:
                names = f"{name_of(yes)} and {name_of(no)}"
                raise LayerError(f"its branches have results of the types {names}")
        return operands[1 : 1 + count]

    def reference(self, condition: Array, *values: Array) -> list[Array]:
        count = len(self.results)
        return list(values[:count] if condition.reshape(()) else values[count:])

    def lower(self, b: Builder, condition: Tensor, *values: Tensor) -> list[Tensor]:
        count, made = len(self.results), []
        for yes, no in zip(values[:count], values[count:], strict=True):
            at = b.loops_of(yes.shape)
            chosen = condition[[0] * condition.rank]
            made.append(b.map(at, select(chosen, yes[at], no[at])))
        return made
