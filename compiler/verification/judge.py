"""The judgement of blobs: of a layer by what compiled code gave it, and of a network as a whole.

A detection jumps where two scores are equal but for rounding: it is judged by what compiled code
gave the layer, and its rows are compared as a set. A value that is rounded to int8 may be rounded
to the number beside it: an int8 result may be one off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.verification.difference import (
    Apart,
    Comparison,
    difference,
    difference_to_wheel,
    rows_apart,
)
from ncc.compiler.verification.interpret import run_layers
from ncc.compiler.verification.noise import WINOGRAD, Noise, exact, units
from ncc.compiler.verification.report import WEIGHT
from ncc.compiler.verification.weights import weights_off
from ncc.dialects.ncnn.layer import DYNAMIC, Array, Layer
from ncc.dialects.ncnn.network import Network

MOST_SAMPLES, ENOUGH = 16, 64
"""The most samples of a layer's noise, and the numbers that a slice has in all samples together."""

SAMPLES = 2
"""The number of samples of a whole network's noise."""

FLOAT_BYTES = 4


def counts_rows(op: Layer, arrays: Sequence[Array]) -> bool:
    """Whether a layer finds a number of rows that only its run tells."""
    if op.settling():
        return False  # values decide shapes, and the run knows these
    return any(DYNAMIC in shape for shape in op.infer_all([array.shape for array in arrays]))


def judged_layer(
    op: Layer,
    given: Sequence[Array],
    made: Sequence[Array],
    wheel: Sequence[Array | None],
    noise: Noise,
) -> list[Apart]:
    """Judge each result of a layer, and that of ncnn, on the inputs that the layer was given."""
    if counts_rows(op, given):
        wanted = op.reference_all(given)
        return [Apart(rows_apart(*pair)) for pair in zip(made, wanted, strict=True)]
    pairs = list(zip(made, exact(op, given), strict=True))
    judges = [Comparison(*pair) if _is_float(pair[0]) else None for pair in pairs]
    compared = [judge for judge in judges if judge is not None]
    for _ in range(max((_samples(judge.found) for judge in compared), default=0)):
        for judge, sample in zip(judges, noise(op, given), strict=True):
            if judge is not None:
                judge.add(sample)
    aparts = [
        Apart(difference(*pair)) if judge is None else judge.result
        for judge, pair in zip(judges, pairs, strict=True)
    ]
    if units(op, [array.shape for array in given], noise.options) >= WINOGRAD:
        aparts = [replace(aparts[0], weight=weights_off(op, given, *pairs[0], WEIGHT))]
    return [
        apart if theirs is None else replace(apart, ncnn=to_wheel(*pair, theirs))
        for apart, pair, theirs in zip(aparts, pairs, wheel, strict=True)
    ]


def to_wheel(found: Array, wanted: Array, wheel: Array) -> float:
    """The error of ncnn, for a blob whose elements are those of `found`."""
    if _is_float(found):
        return difference(wheel, wanted)
    return difference_to_wheel(found, wheel)


def _is_float(found: Array) -> bool:
    return found.dtype == np.float32


def _samples(found: Array) -> int:
    """The number of samples that tell the noise of the smallest slice."""
    least = found.size // max(found.shape, default=1)
    return min(MOST_SAMPLES, ceil(ENOUGH / max(least, 1)))


@dataclass
class Survey:
    """What the exact run of a network tells about it.

    bytes: the size of each value in compiled code. counting: the layers that find a number of rows
    which only the run tells. values: the exact values that the caller wants.
    """

    bytes: dict[SSAValue, int] = field(default_factory=dict)
    counting: list[Layer] = field(default_factory=list)
    values: dict[SSAValue, Array] = field(default_factory=dict)


def surveyed(network: Network, inputs: Mapping[str, Array], wanted: Collection[SSAValue]) -> Survey:
    """Run a network exactly. The inputs of layers that count their rows are kept as well."""
    survey = Survey()

    def compute(op: Layer, arrays: Sequence[Array]) -> list[Array]:
        if counts_rows(op, arrays):
            survey.counting.append(op)
            survey.values.update(zip(op.operands, arrays, strict=True))
        return exact(op, arrays)

    for op, results in run_layers(network, inputs, compute):
        for value, result in zip(op.results, results, strict=True):
            survey.bytes[value] = result.size * min(result.itemsize, FLOAT_BYTES)
            if value in wanted:
                survey.values[value] = result
    return survey


def judged_values(
    network: Network,
    inputs: Mapping[str, Array],
    pairs: Mapping[SSAValue, tuple[Array, Array]],
    noise: Noise,
) -> dict[SSAValue, Apart]:
    """Judge values of a network, found and exact, by the noise that grows on the way to them."""
    judges = {value: Comparison(*pair) for value, pair in pairs.items() if _is_float(pair[0])}
    for _ in range(SAMPLES if judges else 0):
        for op, results in run_layers(network, inputs, noise):
            for value, result in zip(op.results, results, strict=True):
                if value in judges:
                    judges[value].add(result)
    return {
        value: judges[value].result if value in judges else Apart(difference(*pair))
        for value, pair in pairs.items()
    }
