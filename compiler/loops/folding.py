"""Which weights of a sum are folded: they say so themselves, wherever they are read."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import Access, View
from ncc.compiler.loops.kernel import Folding
from ncc.compiler.plan import Kind, Place
from ncc.dialects.weights.derived import Folded
from ncc.dialects.weights.weight import ConstantOp


def folding(view: View, places: Mapping[SSAValue, Place]) -> Folding | None:
    """The folding of the weights that a computation multiplies with, by its loops.

    Raises CompilerBug where it does not read them block by block.
    """
    for access in view.reads:
        source = _folded(access, places)
        if source is None:
            continue
        outputs, inputs = access.index[source.outputs].bare, access.index[-2].bare
        if outputs is None or inputs is None:
            raise CompilerBug("folded weights that are not read block by block")
        return Folding(outputs, inputs, source.times)
    return None


def _folded(access: Access, places: Mapping[SSAValue, Place]) -> Folded | None:
    """The weights that are read, if they are folded."""
    place = places.get(access.value)
    if place is None or place.root.kind is not Kind.CONSTANT:
        return None
    constant = place.root.value.owner
    source = constant.value.data.source if isinstance(constant, ConstantOp) else None
    return source if isinstance(source, Folded) else None
