"""Problems and reasons for a layer that does not accept its shapes.

    net.param:4:14: error: layer 'fc' (InnerProduct): input (3, 8, 10) has 240 elements, but ..
      InnerProduct fc 1 1 data fc 0=2 2=14
                   ^^
      found data 3x8x10

The way of the shapes, the line and the word at fault in it, and how to go on where an input that
is fed in another form would be taken.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import Misfed, Problem, Unsupported
from ncc.compiler.ncnn.sizes import TooLarge
from ncc.dialects.ncnn.layer import Layer, LayerError, shape_of
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.shapes import shown

LONGEST_CHAIN = 6
"""How many values a chain of shapes shows before it is cut."""


def shape_problem(
    op: Layer, error: LayerError, source: str | None, misfed: Misfed | None = None
) -> Problem:
    """The problem of a layer of the file `source`. misfed: the input at fault."""
    chains = [chain(operand) for operand in dict.fromkeys(op.operands)]
    text = _line_of(source, op.line)
    column, width = _culprit(op, error, text or "")
    is_large = isinstance(error, TooLarge)
    return Problem(
        f"{describe(op)}: {error.message}",
        path=source,
        line=op.line or None,
        column=column,
        width=width,
        source_line=text,
        found="\n    and ".join(chains) or None,
        how=_how_to_say(op) if isinstance(op, InputOp) and not is_large else None,
        misfed=None if is_large else misfed,
    )


def unknown_extents(op: Layer) -> Unsupported:
    """A layer cannot read a value because of an extent that only the run knows."""
    return Unsupported(
        f"{op.type_name} of a value whose extents only the run knows",
        nearest="layers that make each row of one row",
        how="let the network end there: ask for that value as an output",
        layer=op.layer_name,
        line=op.line or None,
    )


def describe(op: Layer) -> str:
    """A layer as messages call it."""
    return f"layer {op.layer_name!r} ({op.type_name})"


def chain(value: SSAValue) -> str:
    """How a value came by its shape, along first operands: `data 3x28x28 -> conv1 8x26x26`.

    What leaves a shape as it is, is left out; so is the middle of a long way.
    """
    values = [value]
    while isinstance(owner := values[-1].owner, Layer) and owner.operands:
        values.append(owner.operands[0])
    links: list[str] = []
    for later, earlier in pairwise([*values, values[-1]]):
        if later in (value, earlier) or shape_of(earlier) != shape_of(later):
            links.append(_link(later))
    links.reverse()
    if len(links) > LONGEST_CHAIN:
        links[1 : len(links) - LONGEST_CHAIN + 2] = ["..."]
    return " -> ".join(links)


def _link(value: SSAValue) -> str:
    owner, shape = value.owner, shape_of(value)
    blob = owner.blob_names[owner.results.index(value)] if isinstance(owner, Layer) else ""
    return f"{blob or 'a value'} {'of unknown shape' if shape is None else shown(shape)}"


def _how_to_say(op: InputOp) -> str:
    """An example of a shape where there is none, by what the params say of it."""
    known = op.stated or (3, None, None)
    usual = (1, 3) if op.TYPED and len(known) == 4 else ()
    shape = tuple(
        n if m is None else m for m, n in zip(known, (*usual, *[224] * len(known)), strict=False)
    )
    name = op.blob_names[0]
    return f"--shape {name}={shown(shape)}; in Python, input_shapes={{{name!r}: {shape}}}"


def _culprit(op: Layer, error: LayerError, text: str) -> tuple[int | None, int]:
    """Column and width of the param at fault, else of the layer's name, in the layer's line."""
    words = [(match.start() + 1, match.group()) for match in re.finditer(r"\S+", text)]
    param = op.LAYER.params.get(error.param or "")
    if param is not None:
        # Arrays have ids of their own in a file: -23300 - id.
        heads = (f"{param.id}=", f"{-23300 - param.id}=")
        for column, word in words:
            if word.startswith(heads):
                return column, len(word)
    named = [(column, len(word)) for column, word in words[1:2] if word == op.layer_name]
    return named[0] if named else (None, 1)


def _line_of(path: str | None, line: int) -> str | None:
    """The text of a line of the model file, where there is such a text."""
    if path is None or not line:
        return None
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # a message without the line is still a message
        return None
    return lines[line - 1] if line <= len(lines) else None
