"""The facts of a report, as plain data: what `gather.py` finds, and `page.py` shows.

Layers, steps, kernels and blobs refer to each other by their positions in the lists. Numbers that
nobody knows are None, and a `Missing` says why a whole part is not there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Missing:
    """A part of the report that there is not, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Reason:
    """A pass that did not change a layer, or did, and what it says about that."""

    by: str
    text: str


@dataclass(frozen=True)
class Blob:
    """A value by its name. shape: as a text, with ? for an extent that nobody knows."""

    name: str
    type: str
    shape: str


@dataclass(frozen=True)
class Layer:
    """A layer of the file, or one of the optimized network.

    line, source: where it stands in the file; 0 and empty where the file has no lines. reads: the
    layers whose blobs it reads. weights: how many numbers it holds. became: of a layer of the file,
    the layer of the optimized network that stands for it, if any. made_of: the other way round.
    rewrites: those that took it. hindered: passes over layers that look at it and must not change
    it. decided: what passes over linalg decided. steps: those of a run that compute it.
    """

    type: str
    name: str
    line: int
    source: str
    blobs: tuple[Blob, ...]
    reads: tuple[int, ...]
    weights: int
    multiply_adds: int | None
    became: int | None = None
    made_of: tuple[int, ...] = ()
    rewrites: tuple[str, ...] = ()
    hindered: tuple[Reason, ...] = ()
    decided: tuple[Reason, ...] = ()
    steps: tuple[int, ...] = ()

    @property
    def fate(self) -> str:
        """What became of a layer of the file: kept, changed, merged into another one, or gone."""
        if self.became is None:
            return "gone"
        return "changed" if self.rewrites else "kept"


@dataclass(frozen=True)
class Step:
    """A step of a run.

    flops, and the bytes of weights and of data: what it must do, None where nobody counts it. ms:
    how long it takes; arithmetic_ms, memory_ms: the least time for its arithmetic, and for its
    bytes. bound: the larger one, "compute" or "memory", or "latency" if neither explains the time.
    They are None if nothing was measured.
    """

    layers: tuple[str, ...]
    kernel: str
    chunks: int | None
    flops: int | None
    weight_bytes: int | None
    data_bytes: int | None
    ms: float | None = None
    arithmetic_ms: float | None = None
    memory_ms: float | None = None
    bound: str | None = None

    @property
    def bytes(self) -> int:
        return (self.weight_bytes or 0) + (self.data_bytes or 0)

    @property
    def bound_ms(self) -> float | None:
        """The least time that the peaks of the machine allow."""
        if self.arithmetic_ms is None or self.memory_ms is None:
            return None
        return max(self.arithmetic_ms, self.memory_ms)


@dataclass(frozen=True)
class Kernel:
    """A kernel. schedule: as a text; empty where it is not written from one. why: the reasons for
    the schedule, a line each. steps: those that run it.
    """

    name: str
    layers: tuple[str, ...]
    schedule: str
    why: tuple[str, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Buffer:
    """Memory of the arena that holds a value from the first step to the last one that touches it.

    layers: those of the step that writes it.
    """

    layers: tuple[str, ...]
    shape: str
    type: str
    bytes: int
    offset: int
    first: int
    last: int


@dataclass(frozen=True)
class Memory:
    """The memory plan of a run. arena_bytes: in one piece, for all buffers; None where the shapes
    of a run decide it.
    """

    arena_bytes: int | None
    weight_bytes: int
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class Roof:
    """The peaks of this machine. gigabytes: GB/s by the bytes that a thread walks; the peaks of
    matrix tiles and of products of bytes are None where they were not measured.
    """

    gigaflops: float
    tile_gigaflops: float | None
    byte_gigaflops: float | None
    gigabytes: dict[int, float]


@dataclass(frozen=True)
class Time:
    """The milliseconds of whole runs, and the rates at the least time."""

    least_ms: float
    median_ms: float
    p95_ms: float
    runs: int
    gigaflops: float | None
    roof: Roof | None


@dataclass(frozen=True)
class Result:
    """How far a blob is off. error, noise, ncnn: parts of its largest value, as `ncc verify` prints
    them; None where there is no measure. is_output: whether it is an output of the network as
    compiled for use.
    """

    layer: str
    type: str
    blob: str
    shape: str
    error: float | None
    differs: bool
    is_output: bool
    noise: float | None = None
    times: float | None = None
    ncnn: float | None = None


@dataclass(frozen=True)
class Results:
    """Results beside exact ones. reference: what they were compared with. no_ncnn: why ncnn did not
    run; None if it did.
    """

    reference: str
    rows: tuple[Result, ...]
    no_ncnn: str | None

    @property
    def differing(self) -> int:
        """How many blobs differ."""
        return sum(row.differs for row in self.rows)


@dataclass(frozen=True)
class Facts:
    """All that a page says of a network.

    machine, options: names and values. inputs, outputs: of the network. file: its layers as the
    file has them; now: as they are compiled, where `became` and `made_of` refer to.
    """

    model: str
    about: dict[str, str]
    inputs: tuple[Blob, ...]
    outputs: tuple[Blob, ...]
    file: tuple[Layer, ...]
    now: tuple[Layer, ...]
    rewrites: tuple[str, ...]
    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...]
    memory: Memory | None
    time: Time | None
    results: Results | None
    notices: tuple[str, ...]
    missing: tuple[Missing, ...]

    def as_object(self) -> dict[str, Any]:
        """The same for programs."""
        return asdict(self)
