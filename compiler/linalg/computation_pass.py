"""Passes that rewrite the computations of a network one after the other."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.passes import ModulePass

from ncc.compiler.linalg.insert import erase_dead
from ncc.compiler.linalg.network import generics_of, network_of


@dataclass(frozen=True)
class ComputationPass(ModulePass):
    """Looks at each computation once, but not at those that take the place of others, and erases
    what nobody reads any more.
    """

    @abstractmethod
    def rewrite(self, op: GenericOp) -> None:
        """Write a computation anew, if it is one that the pass looks for."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for computation in generics_of(block):
            self.rewrite(computation)
        erase_dead(block)
