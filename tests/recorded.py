"""What ncnn's own tests recorded, case by case, and how the released wheel differs.

The folder ../shared/cases holds the cases and tells of them in its README.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from ncc.compiler.verification import oracle
from ncc.dialects.element import element_of_dtype, name_of
from ncc.dialects.ncnn.layer import LAYERS, Array, ParamValue
from tests.runnable import ESTIMATES

CASES = Path(__file__).parents[2] / "shared" / "cases"

INT8_TAG = (0x000D4B38).to_bytes(4, "little")

_SUPERSEDED = {
    "Interp": "sizes are those of the release, which was mended since",
    "ROIPooling": "bins are those of the release, which multiplies by an approximate reciprocal",
}
"""Types whose values are the release's where these are not the recorded ones, and why."""


@dataclass(frozen=True, eq=False)
class Case:
    """One run of one layer in ncnn's own tests.

    `tags` are those of the recording without what follows a colon, and "wheel" where the released
    wheel differs from the recording. Arrays have the layout of the release: elements are not
    packed, and caches of attention are (heads, rows, features).
    """

    type: str
    id: str
    entry: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.type}-{self.id}"

    @property
    def tags(self) -> set[str]:
        tags = {tag.partition(":")[0] for tag in self.entry["tags"]}
        return tags if self.entry["wheel"] == "ok" else tags | {"wheel"}

    @property
    def eps(self) -> float:
        return float(self.entry["eps"])

    @property
    def params(self) -> dict[str, ParamValue]:
        """The params by name, each in the kind that the layer declares."""
        declared = LAYERS[self.type].LAYER
        params: dict[str, ParamValue] = {}
        for id, kind, value in self.entry["pd"]:
            param = declared.param_of_id(id)
            if param is None:
                raise AssertionError(f"{self.type} has no param {id}, but ncnn's tests set it")
            params[param.name] = _param_value(param.kind, kind, value)
        return params

    @property
    def inputs(self) -> list[Array]:
        arrays = self._arrays("in", self.entry["inputs"])
        return self._released(arrays, len(arrays) - 2 * self._caches)

    @property
    def weights(self) -> list[Array]:
        return self._arrays("w", self.entry["weights"])

    @property
    def outputs(self) -> list[Array]:
        """What was recorded."""
        return self._released(self._arrays("out", self.entry["outputs"]), 1)

    @property
    def expected(self) -> list[Array]:
        """What to compute: what was recorded, or the wheel's results where they supersede it."""
        return _results_of_wheel(self.type)[self.id] if self._superseded else self.outputs

    @property
    def mark(self) -> str:
        """Why what is expected is not what was recorded, if so."""
        if self._superseded:
            return _SUPERSEDED[self.type]
        if self._caches:
            return "caches are laid out as by the release: (heads, rows, features)"
        return "elements are not packed" if "elempack" in self.tags else ""

    @property
    def _superseded(self) -> bool:
        return "wheel" in self.tags and self.type in _SUPERSEDED

    @property
    def holds_here(self) -> bool:
        """Whether what is expected is the same on this CPU."""
        return ESTIMATES or not self._superseded or self.type != "ROIPooling"

    @property
    def _caches(self) -> bool:
        """Whether the last two inputs and outputs are recorded as (features of all heads, rows)."""
        return self.type == "MultiHeadAttention" and bool(self.params.get("kv_cache"))

    def _released(self, arrays: list[Array], first_cache: int) -> list[Array]:
        """Recorded arrays in the layout of the release, the bits of float16 as its numbers."""
        if self.type == "Cast" and 2 in (self.params["type_from"], self.params["type_to"]):
            return [a.view(np.float16) if a.dtype == np.uint16 else a for a in arrays]
        if self._caches:
            heads = cast(int, self.params.get("num_heads", 1))
            split = [
                a.reshape(heads, -1, a.shape[1]).swapaxes(1, 2) if a.size else a
                for a in arrays[first_cache:]
            ]
            return arrays[:first_cache] + [np.ascontiguousarray(a) for a in split]
        if "elempack" in self.tags:
            rank = min(len(a["shape"]) for a in (*self.entry["inputs"], *self.entry["outputs"]))
            return [
                np.moveaxis(a, -1, 1).reshape(-1, *a.shape[1:-1]) if a.ndim > rank else a
                for a in arrays
            ]
        return arrays

    def _arrays(self, what: str, entries: Sequence[object]) -> list[Array]:
        held = _arrays_of(self.type)
        return [held[f"{self.id}_{what}{k}"] for k in range(len(entries))]


@cache
def _index() -> dict[str, Any]:
    return cast(dict[str, Any], json.loads((CASES / "index.json").read_text()))


@cache
def _arrays_of(type: str) -> Mapping[str, Array]:
    return cast(Mapping[str, Array], np.load(CASES / f"{type}.npz"))


def recorded(type: str) -> list[Case]:
    """The recorded cases of a layer type that can be judged here; none of one that no build of
    ncnn tests.
    """
    if type not in _index() and type in LAYERS:
        return []
    cases = (Case(type, entry["id"], entry) for entry in _index()[type]["cases"])
    return [case for case in cases if case.holds_here]


def _param_value(declared: str, kind: str, value: Any) -> ParamValue:
    """A recorded value; floats are recorded as the int32 of their bits."""
    if kind == "str":
        return str(value)
    numbers = np.array(value, np.int32)
    if kind.endswith("float"):
        numbers = numbers.view(np.float32)
    as_float = declared.startswith("float")
    converted = numbers.astype(np.float64 if as_float else np.int64)
    return tuple(np.atleast_1d(converted).tolist()) if declared.endswith("s") else converted.item()


# --- cases as networks ----------------------------------------------------------------------


@dataclass
class Batch:
    """Many recordings as one network: an Input for every array, a layer for every case."""

    cases: Sequence[Case]

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The network in files: each line and each weight as ncnn's tests have them."""
        lines: list[str] = []
        weights = bytearray()
        for n, case in enumerate(self.cases):
            # What an Input is fed is its result.
            blobs = [f"in{n}_{k}" for k in range(len(case.inputs)) if case.type != "Input"]
            lines += [f"Input {blob} 0 1 {blob}" for blob in blobs]
            results = [f"out{n}_{k}" for k in range(len(case.outputs))]
            counts = f"{len(blobs)} {len(results)}"
            names = " ".join([*blobs, *results])
            lines.append(f"{case.type} layer{n} {counts} {names} {case.entry['param']}")
            for array, held in zip(case.weights, case.entry["weights"], strict=True):
                tag = INT8_TAG if array.dtype == np.int8 else bytes(4)
                weights += b"" if held["load"] else tag
                weights += array.tobytes() + bytes(-array.nbytes % 4)
        count = len({*self.feeds, *self.outputs})
        param, binary = folder / "batch.param", folder / "batch.bin"
        param.write_text("\n".join(["7767517", f"{len(lines)} {count}", *lines, ""]))
        binary.write_bytes(weights)
        return param, binary

    @property
    def feeds(self) -> dict[str, Array]:
        """The inputs by blob name."""
        return {
            f"{'out' if case.type == 'Input' else 'in'}{n}_{k}": array
            for n, case in enumerate(self.cases)
            for k, array in enumerate(case.inputs)
        }

    @property
    def input_types(self) -> dict[str, str]:
        """The element types of the inputs by blob name."""
        return {name: name_of(element_of_dtype(a.dtype)) for name, a in self.feeds.items()}

    @property
    def outputs(self) -> list[str]:
        """The blob names of all results."""
        return [
            f"out{n}_{k}" for n, case in enumerate(self.cases) for k in range(len(case.outputs))
        ]


@cache
def _results_of_wheel(type: str) -> Mapping[str, list[Array]]:
    """What the wheel computes of the cases of a type in which it differs, by their ids."""
    cases = [case for case in recorded(type) if "wheel" in case.tags]
    with tempfile.TemporaryDirectory(prefix="ncc-recorded-") as folder:
        jobs = []
        for case in cases:
            place = Path(folder, case.id)
            place.mkdir()
            batch = Batch([case])
            jobs.append(oracle.Job(*batch.write(place), batch.feeds, batch.outputs))
        answers = oracle.run_all(jobs)
    results = {}
    for case, answer in zip(cases, answers, strict=True):
        if isinstance(answer, oracle.OracleError):
            raise answer
        results[case.id] = list(answer.values())
    return results
