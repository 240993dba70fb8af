"""Writes the text of a .param file.

    7767517
    2 2
    Input                    data                     0 1 data -23330=5,3,8,8,1,3 0=8 1=8 2=3
    ReLU                     relu                     1 1 data out -23330=5,3,8,8,1,3 0=0.1

Columns are for people; the words are what `read/param.py` reads back to the same layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ncc.compiler.write.params import shape_hints, type_and_params
from ncc.compiler.write.wiring import Line
from ncc.dialects.ncnn.file_format import MAGIC

WIDTH = 24
"""Columns for the type and for the name, as ncnn's own tools have them."""


def param_text(lines: Sequence[Line], *, hints: bool = True) -> str:
    """The text for the layers of a network with their names; with hints where shapes are known.

    Raises `Unsupported` where the format cannot say what a layer is.
    """
    blobs = sum(len(line.outputs) for line in lines)
    return "\n".join(
        [str(MAGIC), f"{len(lines)} {blobs}", *(_line(line, hints) for line in lines), ""]
    )


def _line(line: Line, hints: bool) -> str:
    type, params = ("Split", []) if line.op is None else type_and_params(line.op)
    head = f"{type:<{WIDTH}} {line.name:<{WIDTH}} {len(line.inputs)} {len(line.outputs)}"
    shapes = shape_hints(line.shapes) if hints else []
    return " ".join([head, *line.inputs, *line.outputs, *shapes, *params])
