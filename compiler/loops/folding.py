"""Which weights of a sum are folded: they say so themselves, wherever they are read."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import View
from ncc.compiler.loops.kernel import Folding
from ncc.compiler.loops.unread import source_at
from ncc.compiler.plan import Place
from ncc.dialects.weights.derived import Folded


def folding(view: View, places: Mapping[SSAValue, Place]) -> Folding | None:
    """The folding of the weights that a computation multiplies with, by its loops.

    Raises CompilerBug where it does not read them block by block.
    """
    for access in view.reads:
        place = places.get(access.value)
        source = None if place is None else source_at(place)
        if not isinstance(source, Folded):
            continue
        outputs, inputs = access.index[source.outputs].bare, access.index[-2].bare
        if outputs is None or inputs is None:
            raise CompilerBug("folded weights that are not read block by block")
        return Folding(outputs, inputs, source.times)
    return None
