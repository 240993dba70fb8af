"""Passes that rewrite the computations of a network one after the other."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.passes import ModulePass

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.rewrite.insert import erase_dead


@dataclass(frozen=True)
class LinalgPass(ModulePass):
    """Looks at each computation once, but not at those that take the place of others, and erases
    what nobody reads any more.
    """

    @abstractmethod
    def rewrite(self, op: GenericOp) -> None:
        """Write a computation anew, if it is one that the pass looks for."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for generic_op in generics_of(block):
            self.rewrite(generic_op)
        erase_dead(block)
