"""The element types of a network's inputs: from the caller, else from the layers."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

from ncc.dialects.element import BLOB_ELEMENTS, element_of
from ncc.dialects.ncnn.moving import wanted_by_readers
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.runtime.errors import InputError


def parse_input_type(text: str) -> tuple[str, str]:
    """`"data=int8"` as a name and an element type; `InputError` for anything else."""
    name, equals, element = text.rpartition("=")
    if not equals or element not in BLOB_ELEMENTS:
        raise InputError(f"{text!r} is no element type of an input", expected="name=int8")
    return name, element


def input_types(module: ModuleOp, asked: Mapping[str, str] | None = None) -> dict[str, Attribute]:
    """The element type of every input by name.

    `asked`: types by name, as `BLOB_ELEMENTS` calls them; `InputError` for a name that is no input.
    """
    asked = asked or {}
    inputs = Network.of(module).inputs
    for name in asked:
        if name not in inputs:
            raise InputError.unknown_name("input", name, inputs)
    return {
        name: BLOB_ELEMENTS[asked[name]] if name in asked else _wanted(value)
        for name, value in inputs.items()
    }


def _wanted(value: SSAValue) -> Attribute:
    """The type that the readers of an input want; an input may have its type already."""
    settled = element_of(value)
    typed = isinstance(value.owner, InputOp) and value.owner.TYPED
    if typed or isinstance(value.type, TensorType):
        return settled
    return wanted_by_readers(value) or settled
