"""What passes decided about the computations of a network, and why: for `ncc explain`.

A compilation collects none of it: it runs passes without a list, and then no text is made.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ncc.compiler.linalg.analysis.generics import network_of


@dataclass(frozen=True)
class Decision:
    """A pass rewrote a computation, or found what it looks for and left it.

    layers: those that the computation is part of, as its `doc` names them. reason: why the pass
    left it; of one that it rewrote, what the pass made of it, where there is more to tell than its
    docstring does.
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


@dataclass(frozen=True)
class ExplainedPass(ModulePass):
    """A pass over the computations of a network that can tell what it decided."""

    @abstractmethod
    def run(self, block: Block, decisions: Decisions | None) -> None:
        """Rewrite the network in a block. decisions: the list to add to; None collects nothing."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.run(network_of(op).body.block, None)

    def explain(self, module: ModuleOp) -> Decisions:
        """Rewrite a network, and tell what was decided, each decision once."""
        decisions: Decisions = []
        self.run(network_of(module).body.block, decisions)
        return list(dict.fromkeys(decisions))
