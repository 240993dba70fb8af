"""Converts a value of the text to the type that the schema of the layer wants.

    wanted     1        1.5      1,2      1.0,2.0   "text"   word
    int        1        -        -        -         -        the integer
    float      1.0      1.5      -        -         -        the float
    ints       -        -        1,2      -         -        integers
    floats     -        -        1.0,2.0  1.0,2.0   -        floats
    string     -        -        -        -         text     -

Where a dash stands, ncnn drops the value and takes the default; here it is an error. But `inf` and
`nan`, in the words of C, are what writers of floats make of such values: ncnn takes these for text,
runs with the default, and so does ncc, with a warning. Integers for floats may be their bits, too:
a file that writes 1077936128 in an array of floats means 3.0.
"""

from __future__ import annotations

import re
import struct

from ncc.compiler.diagnostics import CompilerBug, ModelError, Problem
from ncc.compiler.read.records import LayerRecord, RawValue, Source, Spelling
from ncc.dialects.ncnn.file_format import SHAPE_HINTS
from ncc.dialects.ncnn.layer import Declaration, ParamValue

_WANTED = {
    "int": "an integer",
    "float": "a number",
    "ints": "an array of integers; of a single one: with a comma behind it",
    "floats": "an array of numbers; of a single one: with a comma behind it",
    "string": 'a string in "quotes"',
}

SMALLEST_NORMAL_BITS = 0x00800000
"""The bits of the smallest normal float32; as an integer larger than any number of pixels."""

_NO_FINITE = re.compile(r"inf(inity)?|nan(\(\w*\))?", re.IGNORECASE)

_RANK = {4: 3, 5: 4}
"""Shape hints have 4 numbers an output and know up to rank 3, or 5 numbers and rank 4."""


def resolve_params(
    source: Source, record: LayerRecord, declared: Declaration
) -> tuple[dict[str, ParamValue], list[Problem], list[str]]:
    """The parameters of a layer by name, the problems in them, and warnings.

    Parameters without a problem are returned even where others have one.
    """
    params: dict[str, ParamValue] = {}
    problems: list[Problem] = []
    warnings: list[str] = []
    for id, raw in record.params.items():
        param = declared.param_of_id(id)
        try:
            if id == SHAPE_HINTS:
                check_hints(source, record, raw)
            elif param is None:
                message = f"{record} has no parameter {id}; it is ignored"
                warnings.append(source.warning(message, raw.place))
            elif _is_no_finite(raw, param.kind):
                stands = param.follows or f"{param.default:g}"
                message = (
                    f"{param.name} of {record} is {raw}, which ncnn does not take for a number: "
                    f"the default stands, {stands}"
                )
                warnings.append(source.warning(message, raw.place))
            else:
                params[param.name] = value = resolve(source, raw, param.kind, param.name)
                if _is_suspicious(raw, param.kind, value):
                    message = f"{param.name} of {record} is {value}: was an integer meant?"
                    warnings.append(source.warning(message, raw.place))
        except ModelError as error:
            problems += error.problems
    return params, problems, warnings


def resolve(source: Source, raw: RawValue, kind: str, name: str) -> ParamValue:
    """The value of the parameter `name`, which is of a kind of `Param.kind`.

    Raises ModelError where it is spelled as another kind.
    """
    spelling = raw.spelling
    numbers = raw.values
    if kind in ("float", "floats") and (
        spelling is Spelling.WORD or (raw.is_array and mean_bits(raw))
    ):
        packed = struct.pack(f"<{len(numbers)}i", *numbers)
        numbers = struct.unpack(f"<{len(numbers)}f", packed)
    match kind:
        case "string" if spelling is Spelling.STRING:
            return str(raw.values[0])
        case "int" if spelling in (Spelling.INT, Spelling.WORD) and not raw.is_array:
            return int(numbers[0])
        case "float" if spelling is not Spelling.STRING and not raw.is_array:
            return float(numbers[0])
        case "ints" if raw.is_array and spelling is not Spelling.FLOAT:
            return tuple(int(number) for number in numbers)
        case "floats" if raw.is_array:
            return tuple(float(number) for number in numbers)
    if kind not in _WANTED:
        raise CompilerBug(f"parameter {name!r} is declared with the unknown kind {kind!r}")
    raise source.error(
        f"parameter {name!r} has a value of another kind, which ncnn would drop for the default",
        raw.place,
        expected=_WANTED[kind],
        found=str(raw),
    )


def _is_no_finite(raw: RawValue, kind: str) -> bool:
    """Whether a number is spelled as C spells infinity and NaN, without a sign."""
    is_text = raw.spelling is Spelling.STRING and kind in ("int", "float")
    return is_text and _NO_FINITE.fullmatch(str(raw.values[0])) is not None


def mean_bits(raw: RawValue) -> bool:
    """Whether integers in an array of floats are bits of floats: none is small but 0.

    Layers that take the array as it is stored read the bits; others have no use for such numbers.
    """
    if raw.spelling is not Spelling.INT or not any(raw.values):
        return False
    return all(not number or abs(int(number)) >= SMALLEST_NORMAL_BITS for number in raw.values)


def _is_suspicious(raw: RawValue, kind: str, value: ParamValue) -> bool:
    """Whether a word reads as a float that only the bits of a small integer make."""
    if raw.spelling is not Spelling.WORD or kind != "float" or not isinstance(value, float):
        return False
    return 0 < abs(value) < 1e-38


def check_hints(source: Source, record: LayerRecord, raw: RawValue) -> None:
    """Shape hints: for each output rank, w, h, c or rank, w, h, d, c.

    ncc ignores them, because they may be wrong: it infers shapes.
    """
    count = len(record.outputs)
    if not count:
        return
    step, rest = divmod(len(raw.values), count)
    is_integers = raw.spelling in (Spelling.INT, Spelling.WORD) and raw.is_array
    if is_integers and not raw.values:
        return
    if not is_integers or rest or step not in _RANK:
        raise source.error(
            "these are no shape hints",
            raw.place,
            expected=f"for each of {count} outputs 4 or 5 integers: rank, w, h, (d,) c",
            found=f"{len(raw.values)} numbers" if is_integers else str(raw),
        )
    extents = [int(number) for number in raw.values]
    ranks = extents[::step]
    if min(extents) < 0 or max(ranks) > _RANK[step]:
        raise source.error(
            "a shape hint has an impossible rank or a negative extent",
            raw.place,
            expected=f"ranks of 0 to {_RANK[step]}",
            found=str(raw),
        )
