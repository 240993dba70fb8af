"""Inputs in a form that other systems want: what would have to be fed, so that the layers take it.

    data 8x9x3    ->    channels come first: 3x8x9 instead of 8x9x3 for 'data'

A form is advised only if it helps: shapes are inferred with it, and fewer layers, of the same ones,
must refuse what they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import Misfed, NccError
from ncc.dialects.ncnn.layer import Layer, Shape, shape_of
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.shapes import shown
from ncc.dialects.size import is_open
from ncc.runtime.forms import Form, other_forms

MOST_TRIALS = 16
"""For how many forms the shapes of a network are inferred, nearest inputs first."""

MADE = -1
"""The place of layers that others became while shapes were inferred."""

Refusing: TypeAlias = Callable[[ModuleOp, Mapping[str, Shape]], Sequence[Layer]]
"""The layers of a module that refuse their operands if inputs have other shapes."""


@dataclass
class Trials:
    """A network in which layers refuse their operands, and what other forms of its inputs do.

    refused: those layers. refusing: infers the shapes of a copy.
    """

    module: ModuleOp
    refused: Sequence[Layer]
    refusing: Refusing
    _found: dict[tuple[str, Shape], set[int] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        layers = Network.of(self.module).layers
        self._places = {op: place for place, op in enumerate(layers)}

    def misfed(self, op: Layer) -> Misfed | None:
        """The input, and its form, with which a layer takes its operands; None where none helps."""
        for name, owner, value in _inputs_of(op):
            shape = shape_of(value)
            if shape is None or is_open(*shape):
                continue
            for form in (*_likely_forms(shape), *_stated(owner, shape)):
                fits = owner.TYPED or len(form.shape) <= MAX_RANK
                if fits and self._helps(op, name, form.shape):
                    return Misfed(name, form, shape)
        return None

    def _helps(self, op: Layer, name: str, shape: Shape) -> bool:
        key = name, shape
        if key not in self._found:
            if len(self._found) == MOST_TRIALS:
                return False
            self._found[key] = self._refusing(name, shape)
        found = self._found[key]
        before = {self._places[layer] for layer in self.refused}
        return found is not None and found < before and self._places[op] not in found

    def _refusing(self, name: str, shape: Shape) -> set[int] | None:
        """The places of layers that refuse; None where the network cannot be had so at all."""
        copy = self.module.clone()
        places = {layer: place for place, layer in enumerate(Network.of(copy).layers)}
        try:
            return {places.get(layer, MADE) for layer in self.refusing(copy, {name: shape})}
        except NccError:
            return None


def _inputs_of(op: Layer) -> Iterator[tuple[str, InputOp, SSAValue]]:
    """The inputs that a layer depends on, the nearest first."""
    reached: dict[SSAValue, None] = dict.fromkeys(op.operands)
    left = list(reached)
    for value in left:
        owner = value.owner
        if isinstance(owner, InputOp):
            yield owner.blob_names[owner.results.index(value)], owner, value
        elif isinstance(owner, Layer):
            left += [operand for operand in owner.operands if operand not in reached]
            reached.update(dict.fromkeys(owner.operands))


def _likely_forms(shape: Shape) -> Iterator[Form]:
    """The forms that are worth a trial. A batch is one of images: most layers take any one row."""
    for form in other_forms(shape):
        if len(form.shape) >= len(shape) or shape[0] == 1 or len(shape) == MAX_RANK:
            yield form


def _stated(op: InputOp, shape: Shape) -> Iterator[Form]:
    """The form that the file says, where another one was asked for."""
    stated = tuple(extent for extent in op.stated or () if extent is not None)
    if not stated or stated != op.stated or stated == shape:
        return
    how = f"x.reshape{stated}" if prod(stated) == prod(shape) else f"an array of {shown(stated)}"
    yield Form("the file says another shape", how, stated)
