"""Recurrent layers of every kind, compiled every way, give ncnn's numbers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.verification import oracle
from ncc.runtime.session import Model
from tests.runnable import NAMES as RUNNABLE

Array = np.ndarray[Any, Any]

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
BIASES = {"RNN": 1, "GRU": 4, "LSTM": 4}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}
TAG_INT8 = 0x000D4B38


@dataclass(frozen=True)
class Sequence:
    """One recurrent layer, with its states in and out or neither."""

    type: str
    size: int
    outputs: int
    steps: int
    direction: int = 0
    term: int = 0
    hidden: int | None = None
    states: bool = False

    def __str__(self) -> str:
        extents = f"{self.size}-{self.outputs}-{self.hidden or self.outputs}x{self.steps}"
        parts = [self.type, extents, f"d{self.direction}"]
        return "-".join([*parts, *["int8"] * (self.term != 0), *["states"] * self.states])

    @property
    def cell(self) -> int:
        return self.hidden or self.outputs

    @property
    def directions(self) -> int:
        return 2 if self.direction == 2 else 1

    @property
    def rows(self) -> int:
        return self.directions * GATES[self.type] * self.cell

    @property
    def feeds(self) -> dict[str, Array]:
        generator = np.random.default_rng(11)
        shapes = {"data": (self.steps, self.size)}
        if self.states:
            shapes["hidden"] = (self.directions, self.outputs)
        if self.states and self.type == "LSTM":
            shapes["cell"] = (self.directions, self.cell)
        made = {name: generator.uniform(-1, 1, shape) for name, shape in shapes.items()}
        return {name: array.astype(np.float32) for name, array in made.items()}

    @property
    def blobs(self) -> list[str]:
        count = 1 + (STATES[self.type] if self.states else 0)
        return ["out", "hidden_out", "cell_out"][:count]

    def save(self, folder: Path) -> tuple[Path, Path]:
        inputs, outputs = list(self.feeds), self.blobs
        lines = [
            f"Input {name} 0 1 {name} 0={array.shape[1]} 1={array.shape[0]}"
            for name, array in self.feeds.items()
        ]
        layer = [self.type, "layer", len(inputs), len(outputs), *inputs, *outputs]
        layer += [f"0={self.outputs}", f"1={self.rows * self.size}", f"2={self.direction}"]
        layer += [f"3={self.hidden}"] * (self.hidden is not None)
        layer += [f"8={self.term}"] * (self.term != 0)
        lines.append(" ".join(map(str, layer)))
        head = ["7767517", f"{len(lines)} {len(inputs) + len(outputs)}"]
        param, binary = folder / "net.param", folder / "net.bin"
        param.write_text("\n".join([*head, *lines, ""]))
        binary.write_bytes(self.weights())
        return param, binary

    def weights(self) -> bytes:
        generator = np.random.default_rng(12)

        def values(*shape: int) -> Array:
            scale = np.sqrt(shape[-1])
            return np.asarray(generator.uniform(-1.7, 1.7, shape) / scale, np.float32)

        inputs, recurrent = values(self.rows, self.size), values(self.rows, self.outputs)
        bias = values(self.directions * BIASES[self.type], self.cell)
        scales = [127 / np.abs(w).max(axis=1) for w in (inputs, recurrent)] if self.term else []
        if self.term:
            inputs, recurrent = (
                np.round(w * s[:, None]).astype(np.int8)
                for w, s in zip((inputs, recurrent), scales, strict=True)
            )
        tagged = [inputs, bias, recurrent]
        if self.cell != self.outputs:
            tagged.append(values(self.directions, self.outputs, self.cell))
        return b"".join(
            [*map(_tagged, tagged), *(scale.astype(np.float32).tobytes() for scale in scales)]
        )


def _tagged(array: Array) -> bytes:
    tag = struct.pack("<I", TAG_INT8 if array.dtype == np.int8 else 0)
    return tag + array.tobytes() + bytes(-array.nbytes % 4)


SEQUENCES = [
    Sequence("RNN", 7, 33, 9, direction=2, states=True),
    Sequence("RNN", 40, 5, 6, direction=1, term=2),
    Sequence("GRU", 19, 37, 8, direction=2),
    Sequence("GRU", 5, 64, 5, states=True),
    Sequence("GRU", 33, 18, 7, direction=2, term=2, states=True),
    Sequence("LSTM", 30, 23, 9, direction=2, hidden=41, states=True),
    Sequence("LSTM", 16, 48, 12),
    Sequence("LSTM", 9, 31, 6, direction=1, hidden=12, term=2, states=True),
    Sequence("LSTM", 17, 29, 8, direction=2, term=2),
    Sequence("LSTM", 1, 1, 3, direction=2, term=2, states=True),
]

QUICK = (4,)


@cache
def expected(sequence: Sequence, folder: Path) -> dict[str, Array]:
    """What ncnn computes."""
    param, binary = sequence.save(folder)
    return oracle.run(param, binary, sequence.feeds, sequence.blobs)


def require_close(sequence: Sequence, found: Any, wanted: Any) -> None:
    """Of int8, a value that is rounded the other way moves all that follows by a part of 1/127."""
    tolerance = 2e-3 if sequence.term else 2e-5
    for name in sequence.blobs:
        np.testing.assert_allclose(found[name], wanted[name], rtol=0, atol=tolerance)


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
@pytest.mark.parametrize(
    "sequence",
    [
        pytest.param(sequence, marks=() if k in QUICK else pytest.mark.slow, id=str(sequence))
        for k, sequence in enumerate(SEQUENCES)
    ],
)
def test_every_way(sequence: Sequence, tmp_path: Path) -> None:
    """At every level, for every family of CPUs that runs here; threads give the same bits."""
    wanted = expected(sequence, tmp_path)
    for level, target in [(0, RUNNABLE[0]), *product([2], RUNNABLE)]:
        model = ncc.compile(
            *sequence.save(tmp_path),
            opt_level=level, target=target, num_threads=3, outputs=sequence.blobs,
        )  # fmt: skip
        found = [Model(model.artifact, threads).run(sequence.feeds) for threads in (1, 2, 3)]
        require_close(sequence, found[0], wanted)
        for other in found[1:]:
            assert all(np.array_equal(other[name], found[0][name]) for name in sequence.blobs)
