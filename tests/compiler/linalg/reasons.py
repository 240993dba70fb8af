"""Why a pass leaves operations of a network, for tests of these reasons."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.rewrite.decisions import ExplainedPass


def reasons(one: ExplainedPass, module: ModuleOp) -> list[str]:
    """The reasons, in the order of operations; the pass rewrites the module."""
    return [decision.reason for decision in one.explain(module) if not decision.fired]
