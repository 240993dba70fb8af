"""A compiled model: code, weights and a table of buffers, in a .ncc file or in memory.

A .ncc file is a zip archive without compression, so that any zip tool can list its content:

    manifest.json   format version, bindings, sizes, CPU features, tables, info
    sizes.json      where shapes are open: what they decide (`sizes.py`)
    code/0.o ...    relocatable objects
    weights         the packed weights, at a file offset that is a multiple of 4096

Weights are mapped from the file, never read: processes that run the same model share the pages,
and loading takes the same time for any size. The same artifact always gives the same bytes.

Loading compares the checksums of all parts that could make code access wrong memory: the manifest,
the code, and the tables in the weights, which hold indices. These parts are small, and loading
reads only their pages. It does not check other weights, unless it is told to: if they are damaged,
a run ends with wrong numbers.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ncc.runtime import cpu
from ncc.runtime.archive import Archive, Chunks, write_archive
from ncc.runtime.errors import ArtifactError
from ncc.runtime.extents import ANY, OPEN, Range, is_within, shown_range
from ncc.runtime.file_kinds import HEAD, MANIFEST, NCC, other_kind
from ncc.runtime.manifest import MOST_BYTES, Fields
from ncc.runtime.memory_files import FileLike, file_of, shown_path
from ncc.runtime.paths import PathLike

if TYPE_CHECKING:
    import numpy as np

    from ncc.runtime.sizes import Sizes

Weights: TypeAlias = "bytes | bytearray | memoryview | mmap.mmap | np.ndarray[Any, Any]"

SIZES = "sizes.json"
FORMAT = "ncc"
FORMAT_VERSION = 6

# The buffers of a run, by number: state of the threads, arena, weights, numbers that depend on the
# shapes of the inputs, then inputs, then outputs.
STATE_BUFFER, ARENA_BUFFER, WEIGHTS_BUFFER, NUMBERS_BUFFER, FIRST_BUFFER = range(5)

# Of buffers, and of every value in the arena and the weights: a cache line, an AVX-512 register.
ALIGNMENT = 64

# A dynamic output begins with a header of this many bytes, whose first 8 are the number of rows.
DYNAMIC_HEADER = 64

# Bytes of an element; uint16 also holds the bits of bfloat16, which numpy has not.
DTYPES = {
    "float32": 4,
    "float16": 2,
    "float64": 8,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
}


@dataclass(frozen=True)
class Binding:
    """One input or output of a model: shape in numpy order.

    A dynamic output has as many rows (axis 0) as the run finds; shape[0] is the most there can be.
    An extent of -1 is open: each call decides it. ranges: for each axis the least and the most that
    code is for, None being no limit; empty where nothing is said. first: the shape of an input in a
    first run, if it depends on caches, which are empty then.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    dynamic: bool = False
    ranges: tuple[Range, ...] = field(default=(), repr=False)
    first: tuple[int, ...] = field(default=(), repr=False)

    @property
    def is_open(self) -> bool:
        """Whether calls decide an extent."""
        return OPEN in self.shape

    @property
    def nbytes(self) -> int:
        """Bytes of its buffer, a dynamic output's header included."""
        return self.bytes_of(self.shape)

    def bytes_of(self, shape: Sequence[int]) -> int:
        """The same where it has this shape."""
        return prod(shape) * DTYPES[self.dtype] + DYNAMIC_HEADER * self.dynamic

    @property
    def extents(self) -> str:
        """The shape as it is shown: 3x224x224, or 3x?x64..1024 where it is open."""
        shown = ["?" if extent == OPEN else str(extent) for extent in self.shape]
        for axis, range in enumerate(self.ranges):
            if self.shape[axis] == OPEN:
                shown[axis] = shown_range(range)
        return "x".join(shown) if shown else "scalar"

    def admits(self, shape: tuple[int, ...]) -> bool:
        """Whether arrays of this shape can be fed."""
        if not self.is_open:
            return shape == self.shape
        if len(shape) != len(self.shape):
            return False
        ranges = self.ranges or (ANY,) * len(shape)
        return all(
            found == extent if extent != OPEN else is_within(found, range)
            for found, extent, range in zip(shape, self.shape, ranges, strict=True)
        )

    def of_batch(self, samples: int | None) -> Binding:
        """The binding of so many samples, where this is the one of one; of None itself."""
        if samples is None:
            return self
        return replace(self, shape=(samples, *self.shape[1:]))

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {self.extents}{' rows' * self.dynamic}"


def extents(shape: Sequence[int]) -> str:
    """A shape as it is shown: 3x224x224."""
    return "x".join(map(str, shape)) if shape else "scalar"


class Table(NamedTuple):
    """Integers in the weights, by their first byte and size, that code relies on."""

    start: int
    size: int
    checksum: int

    def is_whole(self, weights: memoryview) -> bool:
        """Whether their checksum is right."""
        return zlib.crc32(weights[self.start : self.start + self.size]) == self.checksum


@dataclass(frozen=True, eq=False)
class Artifact:
    """A compiled model, ready to be loaded into any process on a CPU that has its features.

    objects: ELF objects that together define the entries of ncc.compiler.llvm.threads and `run`.
    weights: packed weights; best 64-byte aligned, else a session makes an aligned copy.
    arena_bytes: size of the scratch memory that one run needs. features: the features that the CPU
    needs, named as in /proc/cpuinfo; target: their name. info: model name, optimization level,
    kernel table, version of ncc ...: anything JSON can say. threads: the number of threads that the
    arena was planned for: the default, and the maximum, of a session. tables: parts of the weights
    that the code uses as indices. sizes: what the shapes of a call decide, if they are open; the
    size of the arena is one of these, then. by_sample: whether the code is for one sample of a
    batch, the first axis of all inputs and outputs, and runs for one after the other.
    """

    objects: tuple[bytes, ...]
    weights: Weights
    arena_bytes: int
    inputs: tuple[Binding, ...]
    outputs: tuple[Binding, ...]
    features: frozenset[str] = frozenset()
    target: str = "baseline"
    info: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    tables: tuple[Table, ...] = ()
    sizes: Sizes | None = None
    by_sample: bool = False

    def require_cpu(self) -> None:
        """Raise ArtifactError when this CPU lacks what the code was compiled for."""
        missing, wanted = self.features - cpu.features(), cpu.architecture_of(self.target)
        here = cpu.widest_target()
        if wanted != cpu.machine():
            again = "" if here is None else f"; recompile it with --target={here}"
            raise ArtifactError(
                f"the model was compiled for {self.target}, a target of {wanted}, and this machine "
                f"is {cpu.machine()}{again}"
            )
        if not missing:
            return
        raise ArtifactError(
            f"the model was compiled for {self.target}, and this CPU lacks "
            f"{', '.join(sorted(missing))}; recompile it with --target={here}",
            missing,
        )

    def save(self, path: PathLike) -> None:
        """Write a .ncc file. `path` has its old content or all of the new one. Raises OSError."""
        weights = as_bytes(self.weights)
        self.save_with([weights], len(weights), path)

    def save_with(self, weights: Chunks, weights_bytes: int, path: PathLike) -> None:
        """The same with other weights, of so many bytes; see `write_archive`."""
        manifest = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "target": self.target,
            "features": sorted(self.features),
            "threads": self.threads,
            "arena_bytes": self.arena_bytes,
            "weights_bytes": weights_bytes,
            "objects": len(self.objects),
            "inputs": [vars(binding) for binding in self.inputs],
            "outputs": [vars(binding) for binding in self.outputs],
            "tables": [table._asdict() for table in self.tables],
            "is_open": self.sizes is not None,
            "by_sample": self.by_sample,
            "info": dict(self.info),
        }
        text = json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False).encode()
        entries: dict[str, Chunks] = {MANIFEST: [memoryview(text)]}
        if self.sizes is not None:
            sizes = json.dumps(self.sizes.as_json(), separators=(",", ":")).encode()
            entries[SIZES] = [memoryview(sizes)]
        for number, code in enumerate(self.objects):
            entries[f"code/{number}.o"] = [memoryview(code)]
        entries["weights"] = weights
        write_archive(path, entries, frozenset({"weights"}))

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle, with a copy of the weights, which may be a mapped file."""
        return {**vars(self), "weights": bytes(as_bytes(self.weights))}

    @classmethod
    def load(
        cls, path: FileLike, *, verify_weights: bool = False, any_cpu: bool = False
    ) -> Artifact:
        """Open a .ncc file, by its path, its bytes, or as a file that is open for reading bytes.

        verify_weights also reads all weights, not just their tables, and compares their checksum
        (slow for large models).
        any_cpu leaves out the question whether this CPU can run the code.
        Raises ArtifactError for a broken, foreign or too new file, and for the wrong CPU; OSError
        where the file cannot be opened, InputError for what is no path.
        """
        path = file_of(path, "the .ncc file")
        _require_kind(path)
        artifact = _read(Archive(path), verify_weights)
        if not any_cpu:
            artifact.require_cpu()
        return artifact


def _require_kind(path: str) -> None:
    """Raise ArtifactError for a file of another kind that is known."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        other = other_kind(path, file.read(HEAD), NCC)
    if other is not None:
        what, how = other
        raise ArtifactError(f"{shown_path(path)} is not a compiled model but {what}: {how}")


def _read(archive: Archive, verify_weights: bool) -> Artifact:
    """The artifact in an archive; the manifest is checked field by field."""
    fields = _fields(archive, MANIFEST)
    if fields.text("format") != FORMAT:
        raise archive.broken("its manifest is that of another program")
    version = fields.number("version")
    if version != FORMAT_VERSION:
        newer = "a newer" if version > FORMAT_VERSION else "an older"
        raise ArtifactError(
            f"{archive.path} was written by {newer} ncc (format {version}; this one reads "
            f"{FORMAT_VERSION}): compile the model again, or use that version"
        )
    weights = archive.entry("weights", verify_weights)
    if len(weights) != fields.number("weights_bytes"):
        raise archive.broken("weights has not the size that the manifest says")
    tables = tuple(map(_table, fields.objects("tables")))
    if not all(table.is_whole(weights) for table in tables):
        raise archive.broken("a table in weights does not match its checksum")
    inputs = tuple(map(_binding, fields.objects("inputs")))
    outputs = tuple(map(_binding, fields.objects("outputs")))
    sizes = _sizes(archive, inputs, outputs) if fields.flag("is_open") else None
    by_sample = fields.flag("by_sample")
    if by_sample and not all(binding.shape for binding in (*inputs, *outputs)):
        raise archive.broken("an input or output has no samples")
    inside = [b.of_batch(1 if by_sample else None) for b in (*inputs, *outputs)]
    if sizes is None and any(binding.is_open for binding in inside):
        raise archive.broken("it does not tell what open shapes decide")
    return Artifact(
        objects=tuple(
            bytes(archive.entry(f"code/{number}.o")) for number in range(fields.number("objects"))
        ),
        weights=weights,
        arena_bytes=fields.number("arena_bytes"),
        inputs=inputs,
        outputs=outputs,
        features=frozenset(fields.texts("features")),
        target=fields.text("target"),
        info=fields.mapping("info"),
        threads=fields.number("threads", 1),
        tables=tables,
        sizes=sizes,
        by_sample=by_sample,
    )


def _fields(archive: Archive, name: str) -> Fields:
    """An entry that holds an object of JSON."""
    try:
        read = json.loads(bytes(archive.entry(name)))
    except (ValueError, RecursionError) as error:
        raise archive.broken(f"{name} cannot be read: {error}") from error
    return Fields(read, archive.broken)


def _sizes(archive: Archive, inputs: Sequence[Binding], outputs: Sequence[Binding]) -> Sizes:
    """What shapes decide, which tells every extent that is open."""
    from ncc.runtime.sizes import Sizes  # most models have none

    sizes = Sizes.read(
        _fields(archive, SIZES), [len(b.shape) for b in inputs], [len(b.shape) for b in outputs]
    )
    told = {(extent.input, extent.axis) for extent in sizes.program.extents}
    if any(inputs[place].shape[axis] != OPEN for place, axis in told):
        raise archive.broken("its sizes depend on an extent that is not open")
    return sizes


def _table(fields: Fields) -> Table:
    return Table(fields.number("start"), fields.number("size"), fields.number("checksum"))


def _binding(fields: Fields) -> Binding:
    shape, dtype = fields.integers("shape"), fields.text("dtype")
    if dtype not in DTYPES:
        raise fields.broken(f"dtype {dtype!r} in the manifest is unknown")
    if any(extent < OPEN for extent in shape):
        raise fields.broken("shape in the manifest is out of range")
    ranges = tuple(_range(row, fields) for row in fields.rows("ranges", 2))
    first = fields.numbers("first")
    binding = Binding(fields.text("name"), shape, dtype, fields.flag("dynamic"), ranges, first)
    odd = (binding.dynamic and not shape) or len(ranges) not in (0, len(shape))
    odd |= bool(first) and not binding.admits(first)
    if abs(binding.nbytes) >= MOST_BYTES or odd:
        raise fields.broken(f"the shape of {binding.name!r} in the manifest is impossible")
    return binding


def _range(row: list[object], fields: Fields) -> Range:
    match row:
        case [int() as least, int() | None as most] if (
            0 <= least <= (least if most is None else most)
        ):
            return least, most
    raise fields.broken("a range in the manifest is none")


def as_bytes(weights: Weights) -> memoryview:
    """Any buffer as a flat view of its bytes."""
    view = memoryview(weights)  # type: ignore[arg-type, unused-ignore]  # Python 3.12 knows arrays
    return (view if view.c_contiguous and view.nbytes else memoryview(view.tobytes())).cast("B")
