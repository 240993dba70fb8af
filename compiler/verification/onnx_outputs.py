"""What onnxruntime makes of the network that a .param was converted from, and how far ncc is off.

All else is held to the .param: where a conversion has lost something, only this tells. Inputs and
outputs belong together by their names, or where these are others, as pnnx makes them, by their
order. An .onnx has an axis for a batch in front, of one sample here.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.driver import compile as front
from ncc.compiler.driver.specialise import callable_now
from ncc.compiler.feeds import Range, all_feeds
from ncc.dialects.shapes import shown
from ncc.runtime.errors import InputError

Array: TypeAlias = NDArray[Any]
PathLike: TypeAlias = str | os.PathLike[str]

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
    **options: Any,
) -> tuple[OnnxRow, ...]:
    """Compile the network, and run it and the .onnx on `feeds` (random ones for inputs left out).

    value_range: of random floats. options: those of `compile`. Raises what compiling, running and
    `compare_outputs` raise.
    """
    require_onnxruntime()
    model = callable_now(front.compile(param, bin, **options))
    inputs = all_feeds(model.inputs, feeds, seed, value_range)
    return compare_outputs(onnx, inputs, model.run(inputs))


def require_onnxruntime() -> None:
    """Raises Unsupported where it is not installed."""
    if not available():
        raise Unsupported(
            "a comparison with an .onnx without onnxruntime",
            how="pip install 'ncnn-compiler[onnx]'",
        )


def compare_outputs(
    onnx: PathLike, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
) -> tuple[OnnxRow, ...]:
    """Every output beside what onnxruntime computes from the same inputs.

    Raises InputError where onnxruntime refuses the file, or that has not as many inputs or outputs.
    """
    found = _run(onnx, inputs)
    names = _paired(onnx, "output", list(outputs), list(found))
    return tuple(_row(blob, values, names[blob], found) for blob, values in outputs.items())


def summary(onnx: PathLike, rows: Sequence[OnnxRow]) -> str:
    """One line on how far the outputs are from those of onnxruntime."""
    wrong = ", ".join(str(row) for row in rows if row.differs)
    name = os.path.basename(os.fspath(onnx))
    if wrong:
        return (
            f"warning: {name} gives something else in onnxruntime: {wrong} "
            "(parts of the largest value): was the conversion right?"
        )
    return f"{name} gives the same in onnxruntime: {', '.join(map(str, rows))}"


def _run(onnx: PathLike, inputs: Mapping[str, Array]) -> dict[str, Array]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Its errors have no class in common, and some are plain RuntimeErrors.
    try:
        session = onnxruntime.InferenceSession(
            os.fspath(onnx), options, providers=["CPUExecutionProvider"]
        )
        wanted = {one.name: one for one in session.get_inputs()}
        names = _paired(onnx, "input", list(inputs), list(wanted))
        feeds = {
            names[blob]: _as_fed(array, wanted[names[blob]].type, len(wanted[names[blob]].shape))
            for blob, array in inputs.items()
        }
        made = session.run(None, feeds)
    except InputError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"onnxruntime refuses {os.fspath(onnx)}: {reason}") from error
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
