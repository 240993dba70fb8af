"""The decisions of passes about linalg operations, with reasons, for `ncc explain`.

A compilation collects no decisions: it runs passes without a list, and they make no text.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.target import AVX512, Target


@dataclass(frozen=True)
class Decision:
    """A pass rewrote an operation, or left one that it could have rewritten.

    layers: the layers that the operation is part of, as its `doc` names them. reason: why the pass
    left it; if the pass rewrote it, what the docstring of the pass does not tell.
    """

    pass_name: str
    layers: str
    fired: bool
    reason: str

    @property
    def outcome(self) -> str:
        """Whether the pass fired, and the reason."""
        return ", ".join(filter(None, ("fired" if self.fired else "not", self.reason)))

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{'fired' if self.fired else 'not'} at layer {self.layers!r}{reason}"


Decisions: TypeAlias = "list[Decision]"


class ExplainedPass(ModulePass):
    """A pass over a network that can tell its decisions."""

    @abstractmethod
    def run(self, block: Block, decisions: Decisions | None) -> None:
        """Rewrite the network in a block. decisions: the list to add to; None collects nothing."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(network_of(op).body.block, None)

    def explain(self, module: ModuleOp) -> Decisions:
        """Rewrite a network; the decisions, each once."""
        decisions: Decisions = []
        self.run(network_of(module).body.block, decisions)
        return list(dict.fromkeys(decisions))


@dataclass(frozen=True)
class TargetPass(ExplainedPass):
    """A pass that asks the target: which instructions it has, and what they cost."""

    target: Target = AVX512


@dataclass(frozen=True)
class CostedPass(ExplainedPass):
    """A pass that compares costs, which are those of every target."""

    costs: CostModel = CostModel()
