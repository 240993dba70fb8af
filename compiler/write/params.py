"""Writes the params of a layer as the `id=value` words of its line.

    2=3   1=0.5   -23303=2,1,2   6="w,h"   -23330=5,3,28,28,1,1

Defaults are left out, and so are params that are equal to the param that they follow.
Arrays are in the old form, with their length first, which every runtime and viewer reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.write.floats import float_text
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.file_format import ARRAY, LONGEST_NAME, SHAPE_HINTS
from ncc.dialects.ncnn.layer import Layer, Param, ParamValue, Shape, shape_of
from ncc.dialects.ncnn.movement.reshape import FlattenOp, ReshapeOp
from ncc.dialects.ncnn.opaque import OpaqueOp
from ncc.dialects.ncnn.reduction.reduction import ReductionOp, SoftmaxOp

HINTED_AXES = ("w", "h", "d", "c")


def type_and_params(op: Layer) -> tuple[str, list[str]]:
    """The layer type, and the words behind the blob names of its line, by ascending id.

    Raises `Unsupported` where the format cannot say what the layer is.
    """
    if isinstance(op, OpaqueOp):
        return op.type_name, op.param_words
    if isinstance(op, FlattenOp) and op.axis is not None:
        return ReshapeOp.LAYER.type, _words(op, ReshapeOp.LAYER.params, _matrix(op))
    unknown = op.properties.keys() - op.LAYER.params.keys() - op.LAYER.weights.keys()
    if unknown:
        raise _unsaid(op, f"the property {sorted(unknown)[0]!r} of a {op.LAYER.type}")
    return op.LAYER.type, _words(op, op.LAYER.params, _stated(op))


def shape_hints(shapes: Sequence[Shape | None]) -> list[str]:
    """The word that tells the shapes of all outputs (rank, w, h, d, c); none if one is unknown."""
    numbers: list[int] = []
    for shape in shapes:
        if shape is None or len(shape) not in EXTENT_NAMES:
            return []
        extents = dict(zip(EXTENT_NAMES[len(shape)], shape, strict=True))
        numbers += [len(shape), *(extents.get(axis, 1) for axis in HINTED_AXES)]
    return [f"{ARRAY - SHAPE_HINTS}={_counted(list(map(str, numbers)))}"]


def _stated(op: Layer) -> dict[str, ParamValue]:
    """The params whose values are not their defaults."""
    stated: dict[str, ParamValue] = {}
    for name, param in op.LAYER.params.items():
        if name not in op.properties:
            continue
        value: ParamValue = getattr(op, name)
        if not _same(value, _default(op, param)):
            stated[name] = value
    # Runtimes refuse axes without the mark of files made after a mistake in counting them.
    if (isinstance(op, ReductionOp) and op.axes) or (isinstance(op, SoftmaxOp) and op.axis):
        stated["fixbug0"] = 1
    return stated


def _default(op: Layer, param: Param[Any]) -> ParamValue:
    if param.follows is not None:
        followed: ParamValue = getattr(op, param.follows)
        return followed
    default: ParamValue = param.default
    return default


def _same(value: ParamValue, default: ParamValue) -> bool:
    """Whether they are one value; floats have 32 bits, and a zero has a sign."""
    if isinstance(value, float) and isinstance(default, int | float):
        return np.float32(value).tobytes() == np.float32(default).tobytes()
    return value == default


def _matrix(op: FlattenOp) -> dict[str, ParamValue]:
    """The extents of the Reshape that says the same as a Flatten from an axis on."""
    shape = shape_of(op.results[0])
    if shape is None or min(shape) < 1:
        raise _unsaid(op, "a Flatten from an axis on, of a shape that is not known")
    return {"h": shape[0], "w": shape[1]}


def _words(
    op: Layer, params: Mapping[str, Param[Any]], stated: Mapping[str, ParamValue]
) -> list[str]:
    words = []
    for param in sorted((params[name] for name in stated), key=lambda param: param.id):
        try:
            words.append(_word(param, stated[param.name]))
        except ValueError as error:
            raise _unsaid(op, f"{param.name} of a {op.LAYER.type}: {error}") from error
    return words


def _word(param: Param[Any], value: Any) -> str:
    match param.kind:
        case "int" | "float":
            return f"{param.id}={_SPELLED[param.kind](value)}"
        case "ints" | "floats":
            spelled = _SPELLED[param.kind.removesuffix("s")]
            return f"{ARRAY - param.id}={_counted([spelled(element) for element in value])}"
        case "string":
            return f"{param.id}={_quoted(value)}"
    raise CompilerBug(f"parameter {param.name!r} is declared with the unknown kind {param.kind!r}")


def _integer(value: int) -> str:
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{value} does not fit 32 bits")
    return str(value)


_SPELLED: Mapping[str, Callable[[Any], str]] = {"int": _integer, "float": float_text}


def _counted(elements: Sequence[str]) -> str:
    return ",".join([str(len(elements)), *elements])


def _quoted(text: str) -> str:
    if '"' in text or not text.isprintable() or len(text.encode()) > LONGEST_NAME:
        raise ValueError(f"{text!r} is no string that a .param file can hold")
    return f'"{text}"'


def _unsaid(op: Layer, what: str) -> Unsupported:
    return Unsupported(
        f"{what} in a .param file", layer=op.layer_name or None, line=op.line or None
    )
