"""What onnxruntime makes of the network that a .param was converted from, and how far ncc is off.

All else is held to the .param: where a conversion has lost something, only this tells. Inputs and
outputs belong together by their names, or where these are others, as pnnx makes them, by their
order. An .onnx has an axis for a batch in front, of one sample here.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.driver import compile as front
from ncc.compiler.driver.specialise import callable_now
from ncc.compiler.feeds import Range, all_feeds
from ncc.compiler.options import Compiling
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.by_onnxruntime import names_made, session_of
from ncc.compiler.verification.verify import computed_blobs
from ncc.dialects.shapes import shown
from ncc.runtime.errors import InputError
from ncc.runtime.paths import PathLike

Array: TypeAlias = NDArray[Any]

TOLERANCE = 2e-2
"""The difference that still counts as none, as a part of the largest value: up to 0.007 was seen of
good conversions to fp16, and of networks whose values cancel; a layer that was lost gives more.
"""

LEAST = 1e-4
"""What differences are parts of where no value is larger: a sigmoid of onnxruntime is off by 6e-8
where it is next to zero, which may be all that an output holds.
"""

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
}


@dataclass(frozen=True)
class OnnxRow:
    """An output of the network by its two names. difference: as a part of the largest value of the
    .onnx; infinite where its shape is another, or one of the two has no number where the other has.
    """

    blob: str
    name: str
    shape: tuple[int, ...]
    onnx_shape: tuple[int, ...]
    difference: float
    is_inner: bool = False
    """Whether it is no output, but a blob that has the name of a value of the .onnx."""

    @property
    def differs(self) -> bool:
        return not self.difference <= TOLERANCE

    def as_object(self) -> dict[str, Any]:
        """As JSON can say it; null stands for a difference without measure."""
        measured = self.difference if np.isfinite(self.difference) else None
        return {
            "blob": self.blob,
            "name": self.name,
            "shape": self.shape,
            "onnx_shape": self.onnx_shape,
            "difference": measured,
            "differs": self.differs,
            "inner": self.is_inner,
        }

    def __str__(self) -> str:
        if _without_ones(self.shape) != _without_ones(self.onnx_shape):
            return f"{self.blob} is {shown(self.shape)}, {self.name} {shown(self.onnx_shape)}"
        named = self.blob if self.blob == self.name else f"{self.blob} ({self.name})"
        return f"{named} {self.difference:.1e}"


def available() -> bool:
    """Whether onnxruntime is installed."""
    return importlib.util.find_spec("onnxruntime") is not None


def against_onnx(
    param: PathLike,
    bin: PathLike | None,
    onnx: PathLike,
    *,
    feeds: Mapping[str, Array] | None = None,
    seed: int = 0,
    value_range: Range | None = None,
    **options: Unpack[Compiling],
) -> tuple[OnnxRow, ...]:
    """Compile the network, and run it and the .onnx on `feeds` (random ones for inputs left out).

    Blobs inside of the network that have the name of a value of the .onnx come first, compiled as
    outputs, then the outputs as they are compiled for use. value_range: of random floats. options:
    those of `compile`. Raises what compiling, running and `compare_outputs` raise.
    """
    require_onnxruntime()
    model = callable_now(front.compile(param, bin, **options))
    inputs = all_feeds(model.inputs, feeds, seed, value_range)
    outputs = model.run(inputs)
    inner = [name for name in inner_blobs(param, bin, onnx) if name not in outputs]
    if not inner:
        return compare_outputs(onnx, inputs, outputs)
    options["outputs"] = inner
    every = callable_now(front.compile(param, bin, **options))
    return compare_outputs(onnx, inputs, outputs, every.run(inputs))


def inner_blobs(param: PathLike, bin: PathLike | None, onnx: PathLike) -> list[str]:
    """The blobs that have the name of a value of the .onnx, in the order of the layers.

    Numbers are no names: each converter counts its own way.
    """
    made = names_made(onnx)
    blobs = computed_blobs(read(param, bin, random_weights=0).module)
    return [name for name in blobs if name in made and not name.isdecimal()]


def require_onnxruntime() -> None:
    """Raises Unsupported where it is not installed."""
    if not available():
        raise Unsupported(
            "a comparison with an .onnx without onnxruntime",
            how="pip install 'ncnn-compiler[onnx]'",
        )


def compare_outputs(
    onnx: PathLike,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    inner: Mapping[str, Array] | None = None,
) -> tuple[OnnxRow, ...]:
    """Every output, and inner blobs, beside what onnxruntime computes from the same inputs.

    Raises InputError where onnxruntime refuses the file, or that has not as many inputs or outputs.
    """
    inner = inner or {}
    found = _run(onnx, inputs, list(inner))
    theirs = [name for name in found if name not in inner]
    names = _paired(onnx, "output", list(outputs), theirs)
    rows = [replace(_row(blob, inner[blob], blob, found), is_inner=True) for blob in inner]
    return (*rows, *(_row(blob, values, names[blob], found) for blob, values in outputs.items()))


def summary(onnx: PathLike, rows: Sequence[OnnxRow]) -> str:
    """One line on how far the outputs are from those of onnxruntime, and the first inner blob."""
    inner = [row for row in rows if row.is_inner]
    outputs = [row for row in rows if not row.is_inner]
    wrong = [str(row) for row in outputs if row.differs]
    first = next((f"blob {row}, the first" for row in inner if row.differs), None)
    name = os.path.basename(os.fspath(onnx))
    if wrong or first:
        told = ", ".join([*([first] if first else []), *wrong])
        return (
            f"warning: {name} gives something else in onnxruntime: {told} "
            "(parts of the largest value): was the conversion right?"
        )
    blobs = f", and {len(inner)} blobs of the same names" if inner else ""
    return f"{name} gives the same in onnxruntime: {', '.join(map(str, outputs))}{blobs}"


def _run(onnx: PathLike, inputs: Mapping[str, Array], values: Sequence[str]) -> dict[str, Array]:
    """The outputs of the graph, and more values of it."""
    with session_of(onnx, values) as session:
        wanted = {one.name: one for one in session.get_inputs()}
        names = _paired(onnx, "input", list(inputs), list(wanted))
        feeds = {
            names[blob]: _as_fed(array, wanted[names[blob]].type, len(wanted[names[blob]].shape))
            for blob, array in inputs.items()
        }
        made = session.run(None, feeds)
        return {one.name: array for one, array in zip(session.get_outputs(), made, strict=True)}


def _as_fed(array: Array, type: str, rank: int) -> Array:
    """With the axis of a batch, in the type that is wanted."""
    whole = array[None] if array.ndim == rank - 1 else array
    return np.ascontiguousarray(whole, _DTYPES.get(type, array.dtype))


def _paired(onnx: PathLike, kind: str, ours: list[str], theirs: list[str]) -> dict[str, str]:
    """The name in the .onnx of each blob."""
    if set(ours) <= set(theirs):
        return {name: name for name in ours}
    if len(ours) != len(theirs):
        raise InputError(
            f"{os.fspath(onnx)} has {len(theirs)} {kind}s ({', '.join(theirs)}), and the network "
            f"{len(ours)} ({', '.join(ours)})"
        )
    return dict(zip(ours, theirs, strict=True))


def _row(blob: str, values: Array, name: str, found: Mapping[str, Array]) -> OnnxRow:
    wanted = found[name]
    return OnnxRow(blob, name, values.shape, wanted.shape, difference_of(values, wanted))


def difference_of(values: Array, wanted: Array) -> float:
    """The largest difference, as a part of the largest value that is wanted; infinite where one has
    a number and the other has none. Shapes may differ by axes of one element.
    """
    if _without_ones(values.shape) != _without_ones(wanted.shape):
        return float("inf")
    ours, theirs = (np.ravel(array).astype(np.float64) for array in (values, wanted))
    odd = ~(np.isfinite(ours) & np.isfinite(theirs))
    if not np.array_equal(ours[odd], theirs[odd], equal_nan=True):
        return float("inf")
    apart = float(np.abs(ours[~odd] - theirs[~odd]).max(initial=0.0))
    largest = float(np.abs(theirs[~odd]).max(initial=0.0))
    return apart / max(largest, LEAST)


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [extent for extent in shape if extent != 1]
