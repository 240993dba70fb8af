"""The text of a level of a compilation, as `--emit` and `--dump` write it."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.printer import Printer

from ncc.dialects.attributes import extents_of
from ncc.dialects.size import is_open


def text_of(stage: object) -> str:
    """A level as a text with a line break at its end.

    Where extents are sizes, operations are written in MLIR's generic form: the form of their own
    wants an operand for each extent that is not a number.
    """
    if not isinstance(stage, ModuleOp) or not has_sizes(stage):
        return f"{str(stage).rstrip()}\n"
    text = StringIO()
    Printer(stream=text, print_generic_format=True).print_op(stage)
    return f"{text.getvalue().rstrip()}\n"


def has_sizes(module: ModuleOp) -> bool:
    """Whether the shape of some value has sizes."""
    return any(_is_open(result) for op in module.walk() for result in op.results)


def _is_open(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_open(*extents_of(value.type))
