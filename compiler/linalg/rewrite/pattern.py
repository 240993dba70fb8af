"""Passes that rewrite the computations of a network one by one: match, check, rewrite.

    @dataclass(frozen=True)
    class SumOverImages(LinalgPattern[Windows]):
        name = "sum-over-images"

        def match(self, op): ...          # what the left side names; a reason, or None
        def check(self, found): ...       # None, or the reason why it does not pay
        def rewrite(self, found): ...     # the right side

Patterns of layers have the same form (`dialects/ncnn/canonicalize/pattern.py`). A reason is a
sentence about the computation ("its weights are computed") that `ncc explain` prints.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block

from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.rewrite.decisions import Decision, Decisions, ExplainedPass
from ncc.compiler.linalg.rewrite.insert import doc_of, erase_dead

Found = TypeVar("Found")

Reason: TypeAlias = str
"""Why a pattern leaves a computation as it is."""


@dataclass(frozen=True)
class LinalgChoice(ExplainedPass, Generic[Found]):
    """Matches computations one by one, and rewrites what it found in a way of its own (`run`)."""

    @abstractmethod
    def match(self, op: GenericOp) -> Found | Reason | None:
        """What a rewrite needs to know of a computation.

        The reason where the computation is of the kind that the pass is for, and lacks a
        condition; None where it is of another kind.
        """

    def check(self, found: Found) -> Reason | None:
        """Why a rewrite does not pay; None where it does."""
        return None

    def describe(self, found: Found) -> str:
        """What `ncc explain` says of a rewrite beside its layers; asked for by nothing else."""
        return ""

    def decide(self, op: GenericOp, decisions: Decisions | None = None) -> Found | None:
        """What is to be rewritten, if it is; the decision goes to the list, if there is one."""
        return self.decide_on(op, self.match(op), decisions)

    def decide_on(
        self, op: GenericOp, found: Found | Reason | None, decisions: Decisions | None
    ) -> Found | None:
        """The same by what was matched."""
        if found is None:
            return None
        reason = found if isinstance(found, str) else self.check(found)
        if decisions is not None:
            why = reason if isinstance(found, str) or reason else self.describe(found)
            decisions.append(Decision(self.name, doc_of(op), reason is None, why or ""))
        return None if reason is not None or isinstance(found, str) else found


@dataclass(frozen=True)
class LinalgPattern(LinalgChoice[Found]):
    """One rewrite, offered each computation once, but not those that take the place of others.

    Erases what nobody reads any more.
    """

    @abstractmethod
    def rewrite(self, found: Found) -> None:
        """Put the right side in place of the left one."""

    def run(self, block: Block, decisions: Decisions | None) -> None:
        for op in generics_of(block):
            found = self.decide(op, decisions)
            if found is not None:
                self.rewrite(found)
        erase_dead(block)
