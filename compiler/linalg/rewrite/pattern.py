"""The form of passes that rewrite operations of a network one by one: match, check, rewrite.

    class SumOverImages(LinalgPattern[Windows]):
        name = "sum-over-images"

        def match(self, op): ...          # what the left side names; a reason, or None
        def check(self, found): ...       # None, or the reason why it does not pay
        def rewrite(self, found): ...     # the right side

Patterns of layers have the same form (`dialects/ncnn/canonicalize/pattern.py`). A reason is a
sentence about the operation ("its weights are computed") that `ncc explain` prints.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation

from ncc.compiler.linalg.analysis.generics import generics_of, with_bodies
from ncc.compiler.linalg.analysis.tensors import RESHAPES
from ncc.compiler.linalg.rewrite.decisions import Decision, Decisions, ExplainedPass
from ncc.compiler.linalg.rewrite.insert import erase_dead
from ncc.dialects.weights.weight import ConstantOp

Op = TypeVar("Op", bound=Operation)
Found = TypeVar("Found")

Reason: TypeAlias = str
"""Why a pattern leaves an operation as it is."""


class Choice(ExplainedPass, Generic[Op, Found]):
    """Matches operations one by one, and rewrites what it found in a way of its own (`run`)."""

    @abstractmethod
    def match(self, op: Op) -> Found | Reason | None:
        """What a rewrite needs to know of an operation.

        The reason where the operation is of the kind that the pass is for, and lacks a condition;
        None where it is of another kind.
        """

    def check(self, found: Found) -> Reason | None:
        """Why a rewrite does not pay; None where it does."""
        return None

    def describe(self, found: Found) -> str:
        """What `ncc explain` says of a rewrite beside its layers; asked for by nothing else."""
        return ""

    def decide(self, op: Op, decisions: Decisions | None = None) -> Found | None:
        """What is to be rewritten, if it is; the decision goes to the list, if there is one."""
        return self.decide_on(op, self.match(op), decisions)

    def decide_on(
        self, op: Op, found: Found | Reason | None, decisions: Decisions | None
    ) -> Found | None:
        """The same by what was matched."""
        if found is None:
            return None
        reason = found if isinstance(found, str) else self.check(found)
        if decisions is not None:
            why = reason if isinstance(found, str) or reason else self.describe(found)
            decisions.append(Decision(self.name, layers_of(op), reason is None, why or ""))
        return None if reason is not None or isinstance(found, str) else found


class Pattern(Choice[Op, Found]):
    """One rewrite, offered each operation once, but not those that take the place of others.

    Erases what nobody reads any more.
    """

    @abstractmethod
    def candidates(self, block: Block) -> Sequence[Op]:
        """The operations that the pattern is offered."""

    @abstractmethod
    def rewrite(self, found: Found) -> None:
        """Put the right side in place of the left one."""

    def run(self, block: Block, decisions: Decisions | None) -> None:
        fired = False
        for op in self.candidates(block):
            found = self.decide(op, decisions)
            if found is not None:
                self.rewrite(found)
                fired = True
        if fired:
            erase_dead(block)


class LinalgChoice(Choice[GenericOp, Found]):
    """A choice for each operation."""


class LinalgPattern(Pattern[GenericOp, Found]):
    """A rewrite of operations."""

    def candidates(self, block: Block) -> Sequence[GenericOp]:
        return generics_of(block)


class WeightPattern(Pattern[ConstantOp, Found]):
    """A rewrite of constants, for all that read them."""

    def candidates(self, block: Block) -> Sequence[ConstantOp]:
        return [op for op in with_bodies(block) if isinstance(op, ConstantOp)]


def layers_of(op: Operation) -> str:
    """The layers that an operation is part of: its own, those of the operation that it reshapes,
    or those of the first that reads it.
    """
    parent = op.parent_op()
    found = op.properties.get("doc") or op.attributes.get("doc")
    if isinstance(found, StringAttr):
        return found.data
    if isinstance(parent, GenericOp):
        return layers_of(parent)
    if isinstance(op, RESHAPES) and isinstance(op.operands[0].owner, GenericOp):
        return layers_of(op.operands[0].owner)
    readers = (use.operation for result in op.results for use in result.uses)
    return next(filter(None, map(layers_of, readers)), "")
