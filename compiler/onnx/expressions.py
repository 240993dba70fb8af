"""Sizes as texts by which ncnn computes them from the extents of a layer's operands.

    (h // 4) * w   of the input "x"   ->   "*(//(1h,4),1w)"   with x as operand 1

An extent of an operand is said by its number and its name; all others come from the extents of the
network's inputs, which become operands of the layer then: it reads their extents, not their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import SSAValue

from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Shape
from ncc.dialects.onnx.plumbing import OnnxInputOp
from ncc.dialects.size import NeedsNumbers, form_of, is_open
from ncc.dialects.size_atoms import Atom, Extremum, Quotient, Symbol, TileSize
from ncc.dialects.size_form import Form, least

MOST_OPERANDS = 10
"""Operands that an expression can name: by one digit."""


@dataclass
class Expressions:
    """The expressions of one layer, and its operands.

    inputs: those of the network. blob: the blob of an input.
    """

    operands: list[SSAValue]
    inputs: Sequence[SSAValue]
    blob: Callable[[SSAValue], SSAValue] = lambda value: value

    def text(self, extents: Sequence[int]) -> str:
        """Some sizes. Raises `NeedsNumbers` where ncnn cannot compute one."""
        return ",".join(self._form(form_of(extent)) for extent in extents)

    def _form(self, form: Form) -> str:
        if form.constant is not None:
            return str(form.constant)
        if (known := _named(self.operands, form)) is not None:
            return known
        return _of_two("+", [self._term(atoms, factor) for atoms, factor in form.terms])

    def _term(self, atoms: Sequence[Atom], factor: int) -> str:
        parts = [str(factor)] if factor != 1 or not atoms else []
        return _of_two("*", [*parts, *map(self._atom, atoms)])

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Symbol():
                return self._symbol(atom)
            case Quotient():
                low, divisor = least(atom.dividend), least(atom.divisor)
                if low is None or low < 0 or divisor is None or divisor < 1:
                    raise NeedsNumbers("ncnn rounds a quotient below 0 in another way")
                return f"//({self._form(atom.dividend)},{self._form(atom.divisor)})"
            case Extremum():
                return _of_two(atom.name, [self._form(form) for form in atom.forms])
            case TileSize():
                raise NeedsNumbers("ncnn has no loops over tiles")

    def _symbol(self, symbol: Symbol) -> str:
        form = Form.atom(symbol)
        if _named(self.operands, form) is None:
            holders = [one for one in self.inputs if _named([one], form)]
            if not holders or len(self.operands) == MOST_OPERANDS:
                raise NeedsNumbers(f"no input of the network has the extent {symbol.name}")
            self.operands.append(self.blob(holders[0]))
        found = _named(self.operands, form)
        assert found is not None
        return found


def _of_two(name: str, parts: Sequence[str]) -> str:
    """A function of two operands, applied to several."""
    return reduce(lambda some, other: f"{name}({some},{other})", parts)


def _named(operands: Sequence[SSAValue], form: Form) -> str | None:
    """The number of an operand and the name of its extent that is this one."""
    for number, operand in enumerate(operands):
        extents = _blob_shape(operand)
        for name, extent in zip(EXTENT_NAMES.get(len(extents), ()), extents, strict=False):
            if is_open(extent) and form_of(extent) == form:
                return f"{number}{name}"
    return None


def _blob_shape(value: SSAValue) -> Shape:
    """The shape of a blob, or that which an input of an .onnx will have as one."""
    found = shape(value)
    return without_batch(found) if isinstance(value.owner, OnnxInputOp) else found
