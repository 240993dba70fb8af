"""Finds the weights of a sum that split k: the source of the weights says so (`Folded`)."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.loops.kernel.kernel import KSplit
from ncc.compiler.loops.kernel.padding_lanes import source_at
from ncc.compiler.plan import Subview
from ncc.dialects.weights.derived import Folded


def k_split(linalg_op: LinalgOp, subviews: Mapping[SSAValue, Subview]) -> KSplit | None:
    """How the weights of a sum split k, by its loops.

    Raises CompilerBug if it does not read them block by block.
    """
    for access in linalg_op.reads:
        subview = subviews.get(access.value)
        source = None if subview is None else source_at(subview)
        if not isinstance(source, Folded):
            continue
        outputs, inputs = access.index[source.outputs].bare, access.index[-2].bare
        if outputs is None or inputs is None:
            raise CompilerBug("weights that split k are not read block by block")
        return KSplit(outputs, inputs, source.times)
    return None
